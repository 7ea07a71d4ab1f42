//! The tools a CLI offers, and how to call the one that is meant.

use super::{Api, Call, Input, Invocation};
use serde_json::{Map, Value, json};

pub struct Tool {
    name: String,
    namespace: Option<String>,
    kind: Kind,
    properties: Map<String, Value>,
    required: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    /// Takes a JavaScript program that calls other tools: codex's code mode.
    Code,
}

/// The best first. What stands before `__` or `.` is where the tool comes from.
const SHELLS: &[&str] = &[
    "bash",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "run_commands",
    "shell",
    "execute_command",
    "terminal",
];
const WRITERS: &[&str] = &["write", "write_file", "writefile", "create_file", "write_to_file"];
const COMMANDS: &[&str] = &["command", "cmd", "commands", "script"];
const PATHS: &[&str] = &["file_path", "filepath", "path", "absolute_path"];
const CONTENTS: &[&str] = &["content", "contents", "file_text", "text"];

pub fn offered(api: Api, body: &Value) -> Vec<Tool> {
    let mut found = Vec::new();
    let mut lists = vec![&body["tools"]];
    // codex declares its tools among the messages.
    lists.extend(
        list(&body["input"])
            .iter()
            .filter(|item| item["type"] == "additional_tools")
            .map(|item| &item["tools"]),
    );
    for tool in lists.into_iter().flat_map(list) {
        match api {
            Api::Anthropic => found.extend(function(tool, &tool["input_schema"], None)),
            Api::Chat => found.extend(function(&tool["function"], &tool["function"]["parameters"], None)),
            Api::Gemini => found.extend(list(&tool["functionDeclarations"]).iter().filter_map(|one| {
                let schema =
                    if one["parametersJsonSchema"].is_null() { "parameters" } else { "parametersJsonSchema" };
                function(one, &one[schema], None)
            })),
            Api::Responses if tool["type"] == "namespace" => {
                let space = tool["name"].as_str();
                found.extend(
                    list(&tool["tools"]).iter().filter_map(|one| function(one, &one["parameters"], space)),
                );
            }
            Api::Responses => found.extend(function(tool, &tool["parameters"], None)),
        }
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn function(tool: &Value, schema: &Value, namespace: Option<&str>) -> Option<Tool> {
    let code = tool["type"] == "custom"
        && tool["description"].as_str().is_some_and(|text| text.contains("JavaScript"));
    Some(Tool {
        name: tool["name"].as_str()?.to_owned(),
        namespace: namespace.map(str::to_owned),
        kind: if code { Kind::Code } else { Kind::Function },
        properties: schema["properties"].as_object().cloned().unwrap_or_default(),
        required: list(&schema["required"])
            .iter()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect(),
    })
}

fn named<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    let bare = |tool: &Tool| {
        tool.name.rsplit("__").next().and_then(|name| name.rsplit('.').next().map(str::to_lowercase))
    };
    names.iter().find_map(|name| tools.iter().find(|tool| bare(tool).as_deref() == Some(name)))
}

/// The tool that runs commands. A CLI that offers none does not ask for its main loop.
pub fn shell(tools: &[Tool]) -> Option<&Tool> {
    named(tools, SHELLS).or_else(|| tools.iter().find(|tool| tool.kind == Kind::Code))
}

/// Nothing if no tool can do it.
pub fn invocation(tools: &[Tool], call: &Call, id: String) -> Option<Invocation> {
    match call {
        Call::Shell(command) => run(shell(tools)?, command, id),
        Call::Write { path, content } => {
            let writer = named(tools, WRITERS).and_then(|tool| {
                let (at, what) = (tool.property(PATHS)?, tool.property(CONTENTS)?);
                let given = [(at.to_owned(), json!(path)), (what.to_owned(), json!(content))];
                Some(tool.called(given, id.clone()))
            });
            let by_hand = || run(shell(tools)?, &format!("printf %s '{content}' > '{path}'"), id);
            writer.or_else(by_hand)
        }
    }
}

fn run(tool: &Tool, command: &str, id: String) -> Option<Invocation> {
    if tool.kind == Kind::Code {
        // Half a minute, then the program goes on without the command: as long as it lets one wait.
        let program = format!(
            "text(JSON.stringify(await tools.exec_command({{cmd: {}, yield_time_ms: 30000}})));",
            json!(command)
        );
        return Some(Invocation {
            id,
            name: tool.name.clone(),
            namespace: tool.namespace.clone(),
            input: Input::Program(program),
        });
    }
    let property = tool.property(COMMANDS)?;
    let schema = &tool.properties[property];
    let value = match (schema["type"] == "array", schema["items"]["type"] == "object") {
        (false, _) => json!(command),
        (true, true) => json!([{ "command": command }]),
        // A list of commands, or the words of one.
        (true, false) if property == "commands" => json!([command]),
        (true, false) => json!(["sh", "-c", command]),
    };
    Some(tool.called([(property.to_owned(), value)], id))
}

impl Tool {
    fn property(&self, names: &[&str]) -> Option<&str> {
        let found = |name: &&str| self.properties.keys().find(|key| key.to_lowercase() == **name);
        names.iter().find_map(found).map(String::as_str)
    }

    fn called(&self, given: impl IntoIterator<Item = (String, Value)>, id: String) -> Invocation {
        let mut arguments: Map<String, Value> = given.into_iter().collect();
        for name in &self.required {
            if !arguments.contains_key(name) {
                arguments.insert(name.clone(), anything(&self.properties[name.as_str()]));
            }
        }
        Invocation {
            id,
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            input: Input::Arguments(Value::Object(arguments)),
        }
    }
}

/// A value that a schema allows, for what is required and does not matter.
fn anything(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("string") {
        "boolean" => json!(false),
        "integer" | "number" => json!(1),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("as asked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(tools: &[(&str, Value)]) -> Vec<Tool> {
        let tools: Vec<Value> = tools
            .iter()
            .map(|(name, properties)| {
                let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
                let schema = json!({"properties": properties, "required": required});
                json!({"type": "function", "function": {"name": name, "parameters": schema}})
            })
            .collect();
        offered(Api::Chat, &json!({ "tools": tools }))
    }

    fn arguments(tools: &[Tool], call: Call) -> (String, Value) {
        let made = invocation(tools, &call, "1".into()).unwrap();
        (made.name.clone(), made.arguments())
    }

    #[test]
    fn a_command_goes_to_the_shell_under_its_own_words() {
        let tools = chat(&[
            ("other", json!({})),
            ("dev__shell", json!({"command": {}, "sure": {"type": "boolean"}})),
        ]);
        let made = arguments(&tools, Call::Shell("ls".into()));
        assert_eq!(made, ("dev__shell".into(), json!({"command": "ls", "sure": false})));
        let tools =
            chat(&[("run_commands", json!({"commands": {"type": "array", "items": {"type": "string"}}}))]);
        assert_eq!(arguments(&tools, Call::Shell("ls".into())).1, json!({"commands": ["ls"]}));
        let tools = chat(&[("shell", json!({"command": {"type": "array"}}))]);
        assert_eq!(arguments(&tools, Call::Shell("ls".into())).1, json!({"command": ["sh", "-c", "ls"]}));
    }

    #[test]
    fn a_file_is_written_by_its_tool_or_by_the_shell() {
        let write = || Call::Write { path: "/w/a".into(), content: "42\n".into() };
        let shell = ("bash", json!({"command": {}}));
        let both = chat(&[shell.clone(), ("Write", json!({"filePath": {}, "content": {}}))]);
        assert_eq!(
            arguments(&both, write()),
            ("Write".into(), json!({"filePath": "/w/a", "content": "42\n"}))
        );
        let (name, given) = arguments(&chat(&[shell]), write());
        assert_eq!((name.as_str(), &given["command"]), ("bash", &json!("printf %s '42\n' > '/w/a'")));
    }

    #[test]
    fn code_mode_is_found_and_spoken() {
        let code = json!({"type": "custom", "name": "exec", "description": "Runs JavaScript."});
        let body = json!({"input": [{"type": "additional_tools", "tools": [
            {"type": "namespace", "name": "functions", "tools": [code]}
        ]}]});
        let tools = offered(Api::Responses, &body);
        let made = invocation(&tools, &Call::Shell("echo \"a\"".into()), "1".into()).unwrap();
        let Input::Program(program) = &made.input else { panic!("no program") };
        assert!(program.contains(r#"exec_command({cmd: "echo \"a\"""#), "{program}");
        assert_eq!(made.namespace.as_deref(), Some("functions"));
        assert!(shell(&offered(Api::Responses, &json!({}))).is_none());
    }
}
