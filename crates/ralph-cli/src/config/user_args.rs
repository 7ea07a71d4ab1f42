//! Arguments for a ralph on the command line: by position, and by `--name value`.

use std::collections::BTreeMap;

use ralph_core::ralph_md::is_name;

use super::commands::Name;
use super::nearest::nearest;

/// One argument that is not one of ralph's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Positional(String),
    /// `--name value` or `--name=value`.
    Named {
        name: String,
        value: Option<String>,
    },
}

/// What each argument of a ralph is. `options` are the names of ralph's own, to tell a misspelt one.
pub fn assign(
    declared: &[Name],
    given: &[Given],
    options: &[String],
) -> Result<BTreeMap<String, String>, String> {
    let is_declared = |name: &str| declared.iter().any(|one| one.0 == name);
    let mut out = BTreeMap::new();
    let mut positional = Vec::new();
    for one in given {
        let (name, value) = match one {
            Given::Positional(value) => {
                positional.push(value);
                continue;
            }
            Given::Named { name, value } => (name, value),
        };
        let meant = nearest(name, options.iter().map(String::as_str)).filter(|_| !is_declared(name));
        if let Some(option) = meant {
            return Err(format!("there is no option `--{name}`; did you mean `--{option}`?"));
        }
        if !is_name(name) {
            return Err(format!("`--{name}` is no argument: a name is made of letters, digits, `-` and `_`"));
        }
        let Some(value) = value else {
            return Err(format!("`--{name}` needs a value: --{name} VALUE, or --{name}=VALUE"));
        };
        out.insert(name.clone(), value.clone());
    }
    // Those that were given by name are not waited for.
    let mut free = declared.iter().filter(|name| !out.contains_key(&name.0)).collect::<Vec<_>>().into_iter();
    for value in positional {
        let Some(name) = free.next() else {
            return Err(match declared.is_empty() {
                true => {
                    format!("`{value}` is too much: this ralph takes no arguments; declare them with `args`")
                }
                false => {
                    let names: Vec<&str> = declared.iter().map(|name| name.0.as_str()).collect();
                    format!("`{value}` is too much: this ralph takes {}", names.join(", "))
                }
            });
        };
        out.insert(name.0.clone(), value.clone());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Vec<Given> {
        let words = words.iter().map(|word| match word.strip_prefix("--") {
            Some(named) => {
                let (name, value) = named.split_once('=').map_or((named, None), |(n, v)| (n, Some(v)));
                Given::Named { name: name.to_owned(), value: value.map(str::to_owned) }
            }
            None => Given::Positional((*word).to_owned()),
        });
        words.collect()
    }

    fn assigned(declared: &[&str], words: &[&str]) -> Result<Vec<(String, String)>, String> {
        let declared: Vec<Name> = declared.iter().map(|name| Name((*name).to_owned())).collect();
        let options = ["max-iterations", "delay"].map(str::to_owned);
        assign(&declared, &given(words), &options).map(|all| all.into_iter().collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn case_28_positions_are_the_order_of_the_names() {
        assert_eq!(assigned(&["a", "b"], &["A", "B"]), pairs(&[("a", "A"), ("b", "B")]));
        assert_eq!(assigned(&["a", "b"], &["A"]), pairs(&[("a", "A")]));
        assert!(assigned(&["a", "b"], &["A", "B", "C"]).unwrap_err().contains("takes a, b"));
        assert!(assigned(&[], &["A"]).unwrap_err().contains("no arguments"));
    }

    #[test]
    fn case_29_names_go_before_positions() {
        assert_eq!(assigned(&["a", "b"], &["--b=perf", "./p"]), pairs(&[("a", "./p"), ("b", "perf")]));
        assert_eq!(assigned(&["a", "b"], &["./p", "--a=x"]), pairs(&[("a", "x"), ("b", "./p")]));
        assert_eq!(assigned(&["a"], &["--a=1=2"]), pairs(&[("a", "1=2")]));
        assert_eq!(assigned(&["a"], &["--a=1", "--a=2"]), pairs(&[("a", "2")]));
        assert_eq!(assigned(&["a"], &["--a="]), pairs(&[("a", "")]));
    }

    #[test]
    fn case_30_names_need_not_be_declared_unless_they_look_like_ralphs_own() {
        assert_eq!(assigned(&[], &["--zzz=v"]), pairs(&[("zzz", "v")]));
        assert!(assigned(&[], &["--max-iteration=5"]).unwrap_err().contains("`--max-iterations`"));
        assert!(assigned(&[], &["--max-iteration"]).unwrap_err().contains("`--max-iterations`"));
        assert_eq!(assigned(&["delays"], &["--delays=5"]), pairs(&[("delays", "5")]));
        assert!(assigned(&["a"], &["--a"]).unwrap_err().contains("needs a value"));
        assert!(assigned(&["a"], &["--a.b=1"]).unwrap_err().contains("is no argument"));
    }
}
