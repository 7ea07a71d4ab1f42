//! What `--json` prints is what the schemas say.

use serde_json::Value;

use crate::harness::World;

/// Whether a value is one that the schema describes. Knows the words that these schemas use, and refuses to pass others over.
fn check(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let Some(rules) = schema.as_object() else {
        return if schema == &Value::Bool(true) {
            Ok(())
        } else {
            Err(format!("{at}: nothing may stand here"))
        };
    };
    for (rule, wanted) in rules {
        match rule.as_str() {
            "$ref" => {
                let name =
                    wanted.as_str().and_then(|text| text.strip_prefix("#/$defs/")).ok_or("a strange $ref")?;
                check(value, &root["$defs"][name], root, at)?;
            }
            "type" => {
                let one = |kind: &Value| is_of_type(value, kind.as_str().unwrap_or_default());
                let fits = wanted.as_array().map_or_else(|| one(wanted), |kinds| kinds.iter().any(one));
                if !fits {
                    return Err(format!("{at}: {value} is no {wanted}"));
                }
            }
            "const" if value != wanted => return Err(format!("{at}: {value} is not {wanted}")),
            "enum" if !wanted.as_array().is_some_and(|all| all.contains(value)) => {
                return Err(format!("{at}: {value} is none of {wanted}"));
            }
            "minimum" if value.is_number() && value.as_f64() < wanted.as_f64() => {
                return Err(format!("{at}: {value} < {wanted}"));
            }
            "maximum" if value.is_number() && value.as_f64() > wanted.as_f64() => {
                return Err(format!("{at}: {value} > {wanted}"));
            }
            "required" => {
                let names = wanted.as_array().into_iter().flatten().filter_map(Value::as_str);
                if let Some(name) = names.into_iter().find(|name| value.get(name).is_none()) {
                    return Err(format!("{at}: `{name}` is missing in {value}"));
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        check(value, schema, root, &format!("{at}.{name}"))?;
                    }
                }
            }
            "additionalProperties" | "items" => {
                let items = value.as_array().into_iter().flatten();
                let items = items.filter(|_| rule == "items");
                items.into_iter().try_for_each(|item| check(item, wanted, root, &format!("{at}[]")))?;
            }
            "allOf" => {
                wanted.as_array().into_iter().flatten().try_for_each(|one| check(value, one, root, at))?
            }
            "anyOf" | "oneOf" => {
                let tried = wanted.as_array().into_iter().flatten().map(|one| check(value, one, root, at));
                let wrong: Vec<String> = tried.clone().filter_map(Result::err).collect();
                let fits = tried.filter(Result::is_ok).count();
                if fits == 0 || (rule == "oneOf" && fits > 1) {
                    return Err(format!("{at}: {fits} alternatives fit {value}: {}", wrong.join("; ")));
                }
            }
            "const" | "enum" | "minimum" | "maximum" => {}
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
            other => return Err(format!("{at}: the test does not know `{other}`")),
        }
    }
    Ok(())
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[test]
fn what_a_run_prints_is_what_the_schemas_describe() {
    let world = World::new();
    let schema = |what: &str| world.ralph(["schema", what]).expect(0).json();
    let (events, snapshot) = (schema("--events"), schema("--snapshot"));
    let valid = |value: &Value, schema: &Value| check(value, schema, schema, "").expect("a valid document");
    let gates = "gates=[{name: tests, run: test -e fixed}]";
    let agent = "say I look around.\non 1: exit 3\non 3: write fixed yes\nsay <ralph>COMPLETE</ralph>";
    world.run(agent, &["-n", "5", "--set", gates]).expect(0);
    for command in [["status", "--json"], ["explain", "--json"]] {
        let printed = world.ralph(command).expect(0).json();
        assert_eq!(printed["version"], 1);
        valid(&printed, &snapshot);
    }
    let printed = world.ralph(["events", "--json"]).expect(0).stdout;
    assert!(printed.lines().count() > 10, "{printed}");
    for line in printed.lines() {
        valid(&serde_json::from_str(line).expect("JSON"), &events);
    }
    // The test itself would see a difference.
    let mut printed = world.ralph(["status", "--json"]).expect(0).json();
    printed["totals"]["iterations"] = "two".into();
    assert!(check(&printed, &snapshot, &snapshot, "").is_err());
    assert!(check(&serde_json::json!({ "seq": 1, "type": "nothing.known" }), &events, &events, "").is_err());
}
