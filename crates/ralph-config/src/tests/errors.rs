//! Error texts, as the user reads them.

use super::*;

/// The cases stand in the test; a snapshot need not repeat them.
macro_rules! snapshot {
    ($text:expr) => {
        let mut settings = insta::Settings::clone_current();
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!($text));
    };
}

/// Input and error of each case, one below the other.
fn report(cases: &[(&str, Workspace)]) -> String {
    let mut out = String::new();
    for (name, workspace) in cases {
        let error = workspace.load().map(|_| format!("{name}: no error")).unwrap_err();
        out.push_str(&format!("== {name}\n{}\n\n", clean(&error.to_string(), workspace.dir.path())));
    }
    out
}

#[test]
fn unknown_keys() {
    snapshot!(report(&[
        ("a typing error", event_loop("max_iteratoins: 5")),
        ("two at once", yml("agnet: ./agent.sh\nprompt: do it\nevent_loop:\n  dealy: 5\n")),
        ("nothing is near", event_loop("xylophone: 5")),
        ("dash for underscore", event_loop("max-iterations: 5")),
        ("a key of another section", yml("agent: ./agent.sh\nprompt: do it\nmax_iterations: 5\n")),
        ("nearly a key of another section", yml("agent: ./agent.sh\nprompt: do it\nmax_iteration: 5\n")),
        ("inside agent", yml("agent: {command: ./agent.sh, arg: [a]}\nprompt: do it\n")),
        ("stuck detection", yml("agent: ./agent.sh\nprompt: do it\nloop_detection: {pateince: 2}\n")),
        ("nearly stuck detection", yml("agent: ./agent.sh\nprompt: do it\nloop_detect: {}\n")),
        (
            "ralph-orchestrator",
            yml("adapters:\n  claude: {timeout: 5}\nmemories: {}\ncli: {default_mode: x}\n")
        ),
        ("ralph-orchestrator, in event_loop", event_loop("checkpoint_interval: 5")),
        ("in the frontmatter", md("---\nagent: ./agent.sh\nevent_lop: {}\n---\nDo it")),
        ("in --set", event_loop("delay: 1").set("event_loop.max_iteration=5")),
        ("in the user config", event_loop("delay: 1").user_config("agnt: ./a.sh\n")),
    ]));
}

#[test]
fn values() {
    snapshot!(report(&[
        ("count: text", event_loop("max_iterations: ten")),
        ("count: quoted", event_loop("max_iterations: \"10\"")),
        ("count: zero", event_loop("max_iterations: 0")),
        ("count: negative", event_loop("max_iterations: -1")),
        ("count: fraction", event_loop("max_iterations: 1.5")),
        ("count: list", event_loop("max_iterations: [1]")),
        ("count: nothing", event_loop("max_iterations:")),
        ("count: too large", event_loop("max_iterations: 4294967296")),
        ("count: cannot be none", event_loop("max_consecutive_failures: none")),
        ("duration: unit", event_loop("max_runtime: 5 parsecs")),
        ("duration: unit after a number", event_loop("max_runtime: 5min")),
        ("duration: zero", event_loop("iteration_timeout: 0")),
        ("duration: negative", event_loop("delay: -1")),
        ("duration: not finite", event_loop("delay: .inf")),
        ("duration: too long", event_loop("max_wall_time: 36501d")),
        ("duration: cannot be none", event_loop("max_wall_time: none")),
        ("duration: boolean", event_loop("delay: true")),
        ("money: zero", event_loop("max_cost_usd: 0")),
        ("money: text", event_loop("max_cost_usd: $5")),
        ("money: not a number", event_loop("max_cost: .nan")),
        ("boolean: quoted", event_loop("stop_on_error: \"false\"")),
        ("boolean: number", event_loop("stop_on_error: 0")),
        ("boolean: word", event_loop("kill_leftovers: sure")),
        ("text: number", event_loop("completion_promise: 5")),
        ("text: blank", event_loop("completion_promise: ' '")),
        ("factor: below one", event_loop("failure_backoff: {factor: 0.9}")),
        ("section: text", yml("event_loop: fast\n")),
        ("section: list", yml("event_loop: [a]\n")),
        ("several lines", yml("agent: ./a.sh\nprompt: [\n  a,\n  b]\n")),
    ]));
}

#[test]
fn agent() {
    let agent = |value: &str| yml(&format!("prompt: do it\nagent: {value}\n"));
    snapshot!(report(&[
        ("nothing", agent("")),
        ("empty", agent("''")),
        ("blank", agent("'  '")),
        ("number", agent("5")),
        ("list", agent("[./agent.sh]")),
        ("boolean", agent("true")),
        ("unclosed quote", agent("./agent.sh \"a b")),
        ("variable", agent("FOO=1 ./agent.sh 'a b'")),
        ("variable alone", agent("FOO=1")),
        ("empty word", agent("\"'' x\"")),
        ("no command", agent("{args: [a]}")),
        ("prompt", agent("{command: ./a.sh, prompt: stdinn}")),
        ("prompt: nothing like it", agent("{command: ./a.sh, prompt: telepathy}")),
        ("env", agent("{command: ./a.sh, env: {'A=B': 1}}")),
        ("env list", agent("{command: ./a.sh, env: [A]}")),
        ("args text", agent("{command: ./a.sh, args: -x}")),
        ("nul byte", agent("\"a\\0b\"")),
        ("missing", yml("prompt: do it\n")),
        ("cli and agent", yml("prompt: do it\nagent: ./a.sh\ncli: {backend: claude}\n")),
        ("cli custom", yml("prompt: do it\ncli:\n  backend: custom\n  args: [a]\n")),
        ("cli empty", yml("prompt: do it\ncli:\n  args: [a]\n")),
        ("cli auto", yml("prompt: do it\ncli:\n  backend: auto\n")),
        ("cli mode", yml("prompt: do it\ncli:\n  backend: claude\n  prompt_mode: file\n")),
        (
            "cli flag unused",
            yml("prompt: do it\ncli:\n  command: a\n  prompt_mode: stdin\n  prompt_flag: -p\n"),
        ),
        ("on the command line", event_loop("delay: 1").flags(|flags| flags.agent = Some("a 'b".to_owned()))),
    ]));
}

#[test]
fn yaml() {
    snapshot!(report(&[
        ("syntax", yml("agent: ./agent.sh\nprompt: [a, b\nenabled: true\n")),
        ("tab", yml("event_loop:\n\tdelay: 1\n")),
        ("twice", yml("agent: a\nprompt: x\nagent: b\n")),
        ("not a mapping", yml("- a\n- b\n")),
        ("text only", yml("just words\n")),
        ("two documents", yml("agent: a\n---\nagent: b\n")),
        ("tag", yml("agent: !!python/object a\n")),
        ("key that is a list", yml("[a, b]: c\n")),
        ("unknown alias", yml("agent: *nobody\n")),
        ("alias inside itself", yml("agent: &a [*a]\n")),
        ("too deep", yml(&format!("agent: {}1{}\n", "[".repeat(65), "]".repeat(65)))),
        ("control characters", yml("agent: a\n\"k\\e[31m\": b\n")),
        ("very long line", yml(&format!("agent: a\n{}: b\n", "k".repeat(900).repeat(3)))),
    ]));
}

#[test]
fn alias_bombs() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", vec![before; 9].join(", ")));
    }
    snapshot!(yml(&text).err());
}

#[test]
fn ralph_md() {
    let bytes = |bytes: &[u8]| {
        let workspace = Workspace::new(&[]);
        workspace.write("RALPH.md", bytes);
        workspace
    };
    snapshot!(report(&[
        ("invalid YAML", md("---\nagent: [a\n---\nDo it")),
        ("quote that is not closed", md("---\nagent: \"./x\ncredit: no\n---\nDo it")),
        (
            "placeholder without quotes",
            md("---\nagent: a\ncommands: [{name: c, run: ls {{ args.x }}}]\n---\n")
        ),
        (
            "placeholder that is all",
            md("---\nagent: a\ncommands:\n  - name: c\n    run: {{ args.x }}\n---\n")
        ),
        ("not a mapping", md("---\njust words\n---\nDo it")),
        ("invalid UTF-8 in the settings", bytes(b"---\nagent: \xff\n---\nDo it")),
        ("invalid UTF-8 in the body", bytes(b"---\nagent: a\n---\nDo \xc3\x28 it")),
        ("blank line before", md("\n---\nagent: ./agent.sh\n---\nDo it")),
        ("not closed", md("---\nagent: ./agent.sh\nDo it")),
        ("value, with CRLF and BOM", md("\u{feff}---\r\nagent: ./agent.sh\r\nenabled: 1\r\n---\r\nDo it")),
        ("no body", md("---\nagent: ./agent.sh\n---\n\n")),
        ("prompt and body", md("---\nagent: ./agent.sh\nprompt: other\n---\nDo it")),
    ]));
}

#[test]
fn rules() {
    snapshot!(report(&[
        ("endless", event_loop("max_iterations: none\nmax_runtime: none")),
        ("endless by --set", event_loop("max_runtime: none").set("event_loop.max_iterations=none")),
        ("cost is no bound here", event_loop("max_iterations: none\nmax_runtime: none\nmax_cost_usd: 5")),
        ("two names, one setting", event_loop("max_runtime: 1h\nmax_runtime_seconds: 5")),
        ("two places, one setting", yml("agent: a\nprompt: x\nevent_loop: {prompt: y}\n")),
        ("prompt and prompt_file", yml("agent: a\nprompt: x\nprompt_file: P.md\n")),
        ("prompt_file in event_loop", yml("agent: a\nevent_loop:\n  prompt_file: P.md\n  prompt: x\n")),
        ("prompt_file is not there", yml("agent: a\nprompt_file: P.md\n")),
        ("no prompt", yml("agent: a\n")),
        ("backoff", event_loop("failure_backoff: {initial: 2m}")),
        ("backoff by its maximum", event_loop("failure_backoff: {max: 500ms}")),
    ]));
}

#[test]
fn proof() {
    let with = |text: &str| yml(&format!("agent: a\nprompt: x\n{text}\n"));
    snapshot!(report(&[
        ("gate without a command", with("gates:\n  - {name: tests}")),
        ("gate: unknown key", with("gates:\n  - {name: tests, run: make, requierd: false}")),
        ("gate: unknown kind", with("gates:\n  - {name: tests, run: make, kind: tests}")),
        ("gate: shell", with("gates:\n  - {name: tests, run: pytest | tail}")),
        ("gate: variable", with("gates:\n  - {name: tests, run: CI=1 make test}")),
        ("gate: twice", with("gates:\n  - {name: a, run: make}\n  - {name: a, run: make x}")),
        ("gate: no time", with("gates: [{name: a, run: make, timeout: 0}]")),
        ("gates: mapping", with("gates: {name: a, run: make}")),
        ("regex", with("stop: {success_regex: '(unclosed'}")),
        ("no errors", with("stop: {require_no_errors: very}")),
        ("tests that nobody can settle", with("stop:\n  require_passing_tests: true")),
        ("tsc that nobody can settle", with("stop:\n  require_tsc: true")),
        (
            "only a gate that does not refuse",
            with("stop: {require_lint: true}\ngates: [{name: l, run: lint, kind: lint, required: false}]",)
        ),
        ("memory: unknown key", with("memory: {summry_file: x.md}")),
        ("context", with("context: {include_last_n_messages: -1}")),
    ]));
}

#[test]
fn what_a_gate_of_the_kind_or_the_agent_settles_is_fine() {
    let gate = "agent: a\nprompt: x\nstop: {require_passing_tests: true}\ngates: [{name: t, run: make, kind: test}]\n";
    assert!(yml(gate).ok().definition.stop.require_passing_tests);
    let claude = "agent: claude\nprompt: x\nstop: {require_tsc: true}\n";
    assert!(yml(claude).ok().definition.stop.require_typecheck);
}

#[test]
fn command_line() {
    let ok = || event_loop("delay: 1");
    snapshot!(report(&[
        ("-n 0", ok().flags(|flags| flags.max_iterations = Some("0".to_owned()))),
        (
            "-n none without runtime",
            ok().set("event_loop.max_runtime=none").flags(|flags| {
                flags.max_iterations = Some("none".to_owned());
            })
        ),
        ("-d", ok().flags(|flags| flags.delay = Some("-1".to_owned()))),
        ("-t nan", ok().flags(|flags| flags.iteration_timeout = Some(".nan".to_owned()))),
        ("-t word", ok().flags(|flags| flags.iteration_timeout = Some("soon".to_owned()))),
        ("--max-cost", ok().flags(|flags| flags.max_cost = Some("cheap".to_owned()))),
        ("--set without value", ok().set("event_loop.delay")),
        ("--set without key", ok().set("=5")),
        ("--set with a hole", ok().set("event_loop..delay=5")),
        ("--set empty", ok().set("event_loop.delay=")),
        ("--set wrong value", ok().set("event_loop.max_iterations=many")),
        ("--set wrong section", ok().set("event_loop=5")),
        ("--set below a value", ok().set("event_loop.delay.x=5")),
        ("-f is not there", ok().flags(|flags| flags.prompt_file = Some("P.md".to_owned()))),
        ("-p blank", ok().flags(|flags| flags.prompt = Some(" ".to_owned()))),
    ]));
}

#[test]
fn targets() {
    let some = || {
        Workspace::new(&[
            (".agents/ralphs/docs/RALPH.md", "---\nagent: a\n---\nDo it"),
            (".agents/ralphs/fix-tests/RALPH.md", "---\nagent: a\n---\nDo it"),
            ("empty/notes.txt", "x"),
        ])
    };
    snapshot!(report(&[
        ("nothing here", some()),
        ("near", some().target("dosc")),
        ("not near", some().target("zebra")),
        ("folder without", some().target("empty")),
        ("not a definition", some().target("empty/notes.txt")),
        ("path", some().target("a/b.yml")),
        ("no climbing", some().target("../docs")),
        ("empty", some().target("")),
    ]));
}

#[test]
fn colour_is_only_there_when_asked_for() {
    let error = event_loop("max_iteratoins: 5").load().map(|loaded| loaded.definition).unwrap_err();
    assert!(error.render(true).contains('\u{1b}'));
    assert!(!error.render(false).contains('\u{1b}'));
    assert_eq!(error.render(false), error.to_string());
    assert!(!error.to_string().ends_with('\n'));
}

#[test]
fn a_flood_of_errors_is_cut() {
    let keys = |count: usize| yml(&(0..count).map(|n| format!("xylophone{n}: 1\n")).collect::<String>());
    let lines = |text: &str| text.matches("error: unknown key").count();
    let twenty = keys(20).err();
    assert_eq!(lines(&twenty), 20);
    assert!(!twenty.contains("more like these"));
    let many = keys(21).err();
    assert_eq!(lines(&many), 20);
    assert!(many.ends_with("and more like these"));
}
