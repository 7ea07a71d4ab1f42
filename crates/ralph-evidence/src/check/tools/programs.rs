//! Programs of which the words decide in a way of their own: package managers, interpreters, `cargo`, `go`.
//!
//! Apart from the tables, which cover every program that needs no code.

use super::runners::RUNNERS;
use super::table::TOOLS;
use super::{Check, Kind, base_name, check, checks, positionals, script_file, script_names};

const JS_VALUES: &[&str] =
    &["--filter", "-F", "--prefix", "-w", "--workspace", "-C", "--cwd", "--dir", "--exclude", "--from"];

pub(super) fn package_manager(name: &str, rest: &[String]) -> Vec<Check> {
    let mut places = positionals(rest, JS_VALUES);
    // Which packages of many is an option that looks like a command.
    while let Some(first) = places.first().map(|at| rest[*at].as_str()) {
        let skip = match (name, first) {
            ("yarn", "workspace") => 2,
            ("yarn", "workspaces" | "foreach") | ("pnpm", "recursive" | "multi" | "m") => 1,
            _ => break,
        };
        places.drain(..skip.min(places.len()));
    }
    let Some((&first, others)) = places.split_first() else { return Vec::new() };
    let word = rest[first].as_str();
    let without = |used: &[usize]| -> Vec<String> {
        (0..rest.len()).filter(|at| !used.contains(at)).map(|at| rest[at].clone()).collect()
    };
    match (name, word) {
        ("npm", "test" | "t" | "tst" | "it" | "install-test" | "cit") | ("pnpm" | "yarn", "test" | "t") => {
            check(Kind::Test, format!("{name} test"), &without(&[first]))
        }
        ("bun", "test") => check(Kind::Test, "bun test", &without(&[first])),
        ("bun", "build") => check(Kind::Build, "bun build", &without(&[first])),
        ("yarn" | "pnpm", "pack" | "config" | "set" | "rebuild") | ("bun", "install") => Vec::new(),
        (_, "run" | "run-script" | "rum" | "urn") => {
            let Some(&script) = others.first() else { return Vec::new() };
            let what = rest[script].as_str();
            let tail = &rest[script..];
            let known = name != "npm" && TOOLS.iter().any(|tool| tool.name == what);
            match script_names::kind(what) {
                _ if known => checks(tail),
                Some(Kind::Test) if what == "test" && name != "bun" => {
                    check(Kind::Test, format!("{name} test"), &without(&[first, script]))
                }
                Some(kind) => check(kind, format!("{name} run {what}"), &without(&[first, script])),
                None if name != "npm" => checks(tail),
                None => Vec::new(),
            }
        }
        ("npm", _) => Vec::new(),
        // `yarn jest`, `pnpm tsc`: a program of the project, or a script.
        _ => {
            let known = TOOLS.iter().any(|tool| tool.name == word);
            match script_names::kind(word) {
                _ if known => checks(&rest[first..]),
                Some(kind) => check(kind, format!("{name} run {word}"), &without(&[first])),
                None if RUNNERS.iter().any(|runner| runner.name == word) || word == "nx" => {
                    checks(&rest[first..])
                }
                None => Vec::new(),
            }
        }
    }
}

pub(super) fn cargo(rest: &[String]) -> Vec<Check> {
    const VALUES: &[&str] = &["--manifest-path", "-C", "--config", "--color", "-Z", "--target-dir"];
    let rest = match rest.split_first() {
        Some((toolchain, others)) if toolchain.starts_with('+') => others,
        _ => rest,
    };
    let places = positionals(rest, VALUES);
    // Of another option before its word cargo says that it does not know it.
    const BEFORE: &[&str] = &["--locked", "--offline", "--frozen", "--verbose", "--quiet"];
    let first = places.first().copied().unwrap_or(0);
    let is_known = |word: &String| {
        let of_verbose = word.len() > 1 && word[1..].chars().all(|c| c == 'v' || c == 'q');
        let name = word.split('=').next().unwrap_or_default();
        !word.starts_with('-') || of_verbose || BEFORE.contains(&&**word) || VALUES.contains(&name)
    };
    if !rest[..first].iter().all(is_known) {
        return Vec::new();
    }
    let word = |n: usize| places.get(n).map_or("", |at: &usize| rest[*at].as_str());
    let tail = |n: usize| {
        let used = &places[..n.min(places.len())];
        (0..rest.len()).filter(|at| !used.contains(at)).map(|at| rest[at].clone()).collect::<Vec<_>>()
    };
    if rest.iter().any(|word| word == "--list" || word == "--list-tests") {
        return Vec::new();
    }
    match (word(0), word(1)) {
        ("test" | "t" | "bench", _) if rest.iter().any(|word| word == "--no-run") => Vec::new(),
        ("test" | "t", _) => check(Kind::Test, "cargo test", &tail(1)),
        ("build" | "b" | "rustc", _) => check(Kind::Build, "cargo build", &tail(1)),
        ("doc" | "d" | "rustdoc" | "package", _) => {
            check(Kind::Build, format!("cargo {}", word(0)), &tail(1))
        }
        ("fmt", _) if rest.iter().any(|word| word == "--check") => check(Kind::Build, "cargo fmt", &tail(1)),
        ("nextest", "run" | "r") => check(Kind::Test, "cargo nextest", &tail(2)),
        ("miri" | "careful" | "hack" | "insta" | "llvm-cov", "test" | "nextest") => {
            check(Kind::Test, format!("cargo {} {}", word(0), word(1)), &tail(2))
        }
        ("hack", "check" | "clippy") => {
            let kind = if word(1) == "check" { Kind::Typecheck } else { Kind::Lint };
            check(kind, format!("cargo hack {}", word(1)), &tail(2))
        }
        ("llvm-cov", "report" | "clean" | "show-env") => Vec::new(),
        ("tarpaulin" | "llvm-cov", _) => check(Kind::Test, format!("cargo {}", word(0)), &tail(1)),
        ("check" | "c", _) => check(Kind::Typecheck, "cargo check", &tail(1)),
        ("clippy", _) => check(Kind::Lint, "cargo clippy", &tail(1)),
        ("make" | "xtask", name) => script_names::kind(name)
            .map(|kind| check(kind, format!("cargo {} {name}", word(0)), &tail(2)))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

pub(super) fn go(rest: &[String]) -> Vec<Check> {
    let rest = match rest.first().map(String::as_str) {
        Some("-C") => rest.get(2..).unwrap_or_default(),
        _ => rest,
    };
    let Some((word, args)) = rest.split_first() else { return Vec::new() };
    let has = |flags: &[&str]| args.iter().any(|arg| flags.contains(&arg.as_str()));
    match word.as_str() {
        "test" if !has(&["-c", "-n", "-list"]) && !args.iter().any(|arg| arg.starts_with("-list=")) => {
            check(Kind::Test, "go test", args)
        }
        "vet" => check(Kind::Lint, "go vet", args),
        "build" | "install"
            if !(has(&["-n"]) || word == "install" && args.iter().any(|arg| arg.contains('@'))) =>
        {
            check(Kind::Build, "go build", args)
        }
        "run" | "tool" => checks(args),
        _ => Vec::new(),
    }
}

pub(super) fn is_python(name: &str) -> bool {
    let version = ["python", "pypy", "py"].iter().find_map(|prefix| name.strip_prefix(prefix));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

pub(super) fn python(rest: &[String]) -> Vec<Check> {
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        match word.as_str() {
            "-m" if rest.get(at + 1).is_some_and(|module| module == "build") => {
                return check(Kind::Build, "python -m build", &rest[at + 2..]);
            }
            "-m" => return checks(rest.get(at + 1..).unwrap_or_default()),
            "-c" | "-" => return Vec::new(),
            "-W" | "-X" => at += 2,
            // `-3` of the Windows launcher, `-u`, `-B`.
            _ => at += 1,
        }
    }
    let Some((file, args)) = rest.get(at..).and_then(<[String]>::split_first) else { return Vec::new() };
    match (base_name(file), args.first().map(String::as_str)) {
        ("manage.py", Some("test")) => check(Kind::Test, "manage.py test", &args[1..]),
        ("setup.py", Some("test")) => check(Kind::Test, "setup.py test", &args[1..]),
        _ => script_file(file, args).into_iter().collect(),
    }
}

/// `coverage run -m pytest`
pub(super) fn coverage(rest: &[String]) -> Vec<Check> {
    if rest.first().is_none_or(|word| word != "run") {
        return Vec::new();
    }
    match rest.iter().position(|word| word == "-m") {
        Some(at) => checks(&rest[at + 1..]),
        None => python(&rest[1..]),
    }
}

pub(super) fn node(rest: &[String]) -> Vec<Check> {
    if rest.iter().any(|word| word == "--test") {
        let others: Vec<String> = rest.iter().filter(|word| *word != "--test").cloned().collect();
        return check(Kind::Test, "node --test", &others);
    }
    if let Some(at) = rest.iter().position(|word| word == "--run") {
        let Some(name) = rest.get(at + 1) else { return Vec::new() };
        let found =
            script_names::kind(name).map(|kind| check(kind, format!("npm run {name}"), &rest[at + 2..]));
        return found.unwrap_or_default();
    }
    let Some(at) = rest.iter().position(|word| !word.starts_with('-')) else { return Vec::new() };
    if !rest[at].contains("node_modules/") {
        return Vec::new();
    }
    let program = base_name(&rest[at]);
    let program = program.strip_suffix(".js").or(program.strip_suffix(".mjs")).unwrap_or(program);
    let words: Vec<String> =
        std::iter::once(program.to_owned()).chain(rest[at + 1..].iter().cloned()).collect();
    checks(&words)
}

/// `php artisan test`, `php vendor/bin/phpunit`, `ruby -Itest test/all.rb`.
pub(super) fn interpreter(name: &str, rest: &[String]) -> Vec<Check> {
    if name == "ruby" && rest.iter().any(|word| word.starts_with("-Itest") || word == "-Ispec") {
        return check(Kind::Test, "ruby -Itest", rest);
    }
    match rest.iter().position(|word| !word.starts_with('-')) {
        Some(at) => checks(&rest[at..]),
        None => Vec::new(),
    }
}

pub(super) fn zig(rest: &[String]) -> Vec<Check> {
    match (rest.first().map(String::as_str), rest.get(1).map(String::as_str)) {
        (Some("test"), _) => check(Kind::Test, "zig test", &rest[1..]),
        (Some("build"), Some("test")) => check(Kind::Test, "zig build test", &rest[2..]),
        (Some("build" | "build-exe" | "build-lib"), _) => check(Kind::Build, "zig build", &rest[1..]),
        _ => Vec::new(),
    }
}

/// `nx test app`, `nx run app:test`, `nx run-many -t lint test`, `nx affected --target=test`.
pub(super) fn nx(rest: &[String]) -> Vec<Check> {
    let Some((word, args)) = rest.split_first() else { return Vec::new() };
    let targets: Vec<&str> = match word.as_str() {
        "run" => args.first().and_then(|what| what.split(':').nth(1)).into_iter().collect(),
        "run-many" | "affected" => {
            let named = args.iter().filter_map(|arg| {
                arg.strip_prefix("--target=").or(arg.strip_prefix("--targets=")).or(arg.strip_prefix("-t="))
            });
            let at = args.iter().position(|arg| ["-t", "--target", "--targets"].contains(&arg.as_str()));
            let behind = at.map_or(&[][..], |at| &args[at + 1..]).iter().map(String::as_str);
            named.chain(behind.take_while(|arg| !arg.starts_with('-'))).flat_map(|t| t.split(',')).collect()
        }
        other => vec![other],
    };
    let found = targets.iter().filter_map(|target| {
        let kind = script_names::kind(target)?;
        Some(Check { kind, program: format!("nx {target}"), rest: args.to_vec() })
    });
    found.collect()
}

pub(super) fn sbt(rest: &[String]) -> Vec<Check> {
    let tasks = rest.iter().flat_map(|word| word.split(';')).filter_map(|task| {
        let task = task.split_whitespace().next()?.rsplit('/').next()?;
        ["test", "testOnly", "testQuick", "testFull"].contains(&task).then_some(task)
    });
    let mut tasks: Vec<&str> = tasks.collect();
    tasks.dedup();
    let found: Vec<Check> =
        tasks.iter().flat_map(|task| check(Kind::Test, format!("sbt {task}"), rest)).collect();
    let compiles = |word: &String| {
        ["compile", "assembly", "package"].contains(&word.rsplit('/').next().unwrap_or_default())
    };
    match rest.iter().find(|word| compiles(word)) {
        Some(task) if found.is_empty() => check(Kind::Build, format!("sbt {task}"), &[]),
        _ => found,
    }
}

/// `docker build .`, `docker buildx build`, `docker compose build`.
pub(super) fn images(name: &str, rest: &[String]) -> Vec<Check> {
    let words: Vec<&str> =
        rest.iter().map(String::as_str).filter(|word| !word.starts_with('-')).take(4).collect();
    let builds = match words.as_slice() {
        ["build", ..] | ["buildx" | "image", "build" | "bake", ..] => true,
        ["compose", others @ ..] => others.contains(&"build"),
        _ => false,
    };
    if builds { check(Kind::Build, format!("{name} build"), rest) } else { Vec::new() }
}

pub(super) fn cmake(rest: &[String]) -> Vec<Check> {
    let builds = rest.iter().any(|word| word == "--build");
    let cleans = rest.windows(2).any(|pair| pair[0] == "--target" && pair[1] == "clean");
    if builds && !cleans { check(Kind::Build, "cmake --build", rest) } else { Vec::new() }
}
