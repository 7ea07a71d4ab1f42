//! What a definition comes to.

use std::time::Duration;

use ralph_core::plan::{EventLoop, PromptVia};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn from(loaded: &Loaded, path: &str) -> (String, String) {
    let one = loaded.settings().into_iter().find(|one| one.path == path).unwrap();
    (one.value.unwrap_or_default(), one.from)
}

#[test]
fn defaults_are_those_of_the_plan() {
    let plan = yml("agent: ./agent.sh\nprompt: do it\n").ok().to_plan(None, false).expect("a plan");
    assert_eq!(plan.event_loop, EventLoop { silence_timeout: Some(None), ..EventLoop::default() });
    assert_eq!(plan.pace, ralph_core::plan::Pace::default());
    assert!(!plan.once && plan.event_loop.kill_leftovers);
    assert_eq!(plan.agent.prompt, PromptVia::Stdin);
}

#[test]
fn an_empty_file_and_flags_are_enough() {
    let run = |text| {
        yml(text).flags(|flags| {
            flags.agent = Some("./agent.sh".to_owned());
            flags.prompt = Some("do it".to_owned());
        })
    };
    for text in ["", "# nothing\n", "\n\n", "event_loop:\n", "---\n", "{}"] {
        assert_eq!(run(text).ok().definition.event_loop, EventLoop::default(), "{text:?}");
    }
}

#[test]
fn precedence_is_flags_then_set_then_file_then_user_then_default() {
    let with = |file: &str, user: &str| event_loop(file).user_config(user);
    let user = "event_loop: {max_iterations: 2, delay: 2, max_attempts: 2, max_runtime: 2}\n";
    let loaded = with("max_iterations: 3\ndelay: 3\nmax_attempts: 3", user)
        .set("event_loop.max_iterations=4")
        .set("event_loop.delay=4")
        .flags(|flags| flags.max_iterations = Some("5".to_owned()))
        .ok();
    let set = |path: &str| from(&loaded, &format!("event_loop.{path}"));
    let pair = |value: &str, from: &str| (value.to_owned(), from.to_owned());
    assert_eq!(set("max_iterations"), pair("5", "-n"));
    assert_eq!(set("delay"), pair("4s", "--set"));
    assert_eq!(set("max_attempts"), pair("3", "ralph.yml:6:3"));
    assert_eq!(set("max_runtime").0, "2s");
    assert!(set("max_runtime").1.ends_with("home/.config/ralph/config.yml:1:60"), "{}", set("max_runtime").1);
    assert_eq!(set("iteration_timeout"), pair("2h", "default"));
    assert_eq!(from(&loaded, "agent.command"), pair("./agent.sh", "ralph.yml:1:1"));
}

#[test]
fn a_mistake_in_a_lower_layer_shows_though_it_is_covered() {
    let text = event_loop("max_iterations: 3").user_config("event_loop: {max_iterations: x}\n").err();
    assert!(text.contains("config.yml:1:30"), "{text}");
}

#[test]
fn xdg_config_home_goes_before_home_and_must_be_absolute() {
    let mut env = Env { home: Some("/me".into()), xdg_config_home: Some("/xdg".into()) };
    assert_eq!(env.user_config().unwrap(), Path::new("/xdg/ralph/config.yml"));
    env.xdg_config_home = Some("xdg".into());
    assert_eq!(env.user_config().unwrap(), Path::new("/me/.config/ralph/config.yml"));
    assert_eq!(Env::default().user_config(), None);
}

#[test]
fn a_command_line_is_split_without_a_shell() {
    let agent = |text: &str| yml(&format!("prompt: x\nagent: {text}\n")).ok().agent;
    let one = agent("agent --flag \"a b\" $HOME '*' a|cat");
    assert_eq!(one.program, "agent");
    assert_eq!(one.args, ["--flag", "a b", "$HOME", "*", "a|cat"]);
    // Where nobody splits words, one that looks like a shell's is meant.
    assert_eq!(agent("{command: a, args: ['|']}").args, ["|"]);
    let one = agent("{command: a -x, args: [5, true, 1.10, 'b c'], prompt: arg, env: {N: 010, Y: yes}}");
    assert_eq!(one.args, ["-x", "5", "true", "1.10", "b c"]);
    assert_eq!(one.prompt, Some(PromptVia::Arg { flag: None }));
    assert_eq!(one.env["N"], "010".into());
    assert_eq!(one.env["Y"], "yes".into());
    assert_eq!(agent("{command: a, prompt: file}").prompt, Some(PromptVia::File { flag: None }));
    // Only a first word can be taken for a variable.
    assert_eq!(agent("env FOO=1 ./a.sh").program, "env");
    assert_eq!(agent("./a=b/run").program, "./a=b/run");
}

#[test]
fn a_new_command_replaces_the_agent_and_a_part_adds_to_it() {
    let file = || yml("prompt: x\nagent: {command: a, args: [b], env: {K: v}}\n");
    let one = file().flags(|flags| flags.agent = Some("c d".to_owned())).ok().agent;
    assert_eq!((one.program.as_str(), one.args, one.env.len()), ("c", vec!["d".to_owned()], 0));
    let one = file().set("agent.env.L=1").ok().agent;
    assert_eq!((one.program.as_str(), one.env.len()), ("a", 2));
    let one = yml("prompt: x\nagent: a b\n").set("agent.env.L=1").ok().agent;
    assert_eq!((one.program.as_str(), one.args.len(), one.env["L"].text()), ("a", 1, Some("1")));
}

#[test]
fn a_higher_layer_decides_between_agent_and_cli_and_between_prompts() {
    let file = || yml("prompt: x\ncli: {backend: claude}\n").user_config("agent: mine\nprompt_file: P.md\n");
    let loaded = file().ok();
    assert_eq!(loaded.agent.program, "claude");
    assert_eq!(loaded.task, Task::Text("x".to_owned()));
    let loaded = file().flags(|flags| flags.agent = Some("a".to_owned())).ok();
    assert_eq!((loaded.agent.program.as_str(), loaded.definition.cli), ("a", None));
    // A part of an agent cannot be added to `cli`.
    assert!(yml("prompt: x\ncli: {backend: claude}\n").set("agent.env.A=1").err().contains("both"));
}

#[test]
fn cli_of_ralph_orchestrator() {
    let agent = |text: &str| yml(&format!("prompt: x\ncli: {text}\n")).ok().agent;
    let one = agent("{backend: claude}");
    assert_eq!((one.program.as_str(), one.prompt, one.name), ("claude", None, None));
    let one = agent("{backend: custom, command: mine, args: [-x], prompt_flag: -p}");
    assert_eq!((one.program.as_str(), one.args, one.name), ("mine", vec!["-x".to_owned()], None));
    assert_eq!(one.prompt, Some(PromptVia::Arg { flag: Some("-p".to_owned()) }));
    assert_eq!(agent("{backend: custom, command: mine}").prompt, Some(PromptVia::Arg { flag: None }));
    assert_eq!(agent("{command: mine, prompt_mode: stdin}").prompt, Some(PromptVia::Stdin));
    let one = agent("{backend: claude, command: /opt/claude, prompt_mode: arg}");
    assert_eq!((one.program.as_str(), one.name.as_deref()), ("/opt/claude", Some("claude")));
}

#[test]
fn a_ralph_orchestrator_file_keeps_working() {
    let text = "cli:\n  backend: \"claude\"\n  prompt_mode: \"arg\"\nevent_loop:\n  prompt_file: \"TASK.md\"\n  \
                completion_promise: \"LOOP_COMPLETE\"\n  max_iterations: 50\n  max_runtime_seconds: 7200\n  \
                max_cost_usd: 10.0\n  max_consecutive_failures: 4\n";
    let workspace = Workspace::new(&[("ralph.yml", text), ("TASK.md", "do it")]);
    let plan = workspace.ok().to_plan(None, false).expect("a plan");
    assert_eq!(plan.event_loop.max_iterations, Some(50));
    assert_eq!(plan.event_loop.max_runtime, Some(7200 * SECOND));
    assert_eq!(plan.event_loop.max_cost_usd, Some(10.0));
    assert_eq!(plan.event_loop.max_consecutive_failures, 4);
    assert_eq!(plan.signals().completion_promise.as_deref(), Some("LOOP_COMPLETE"));
    assert_eq!(plan.task, Task::File(workspace.path("TASK.md")));
}

#[test]
fn aliases_and_their_targets_meet_across_layers() {
    let loaded = event_loop("max_runtime: 1h").set("event_loop.max_runtime_seconds=60").ok();
    assert_eq!(loaded.to_plan(None, false).expect("a plan").event_loop.max_runtime, Some(60 * SECOND));
    assert_eq!(from(&loaded, "event_loop.max_runtime").1, "--set");
    let loaded = event_loop("max_cost: 2.5").ok();
    assert_eq!(loaded.to_plan(None, false).expect("a plan").event_loop.max_cost_usd, Some(2.5));
}

#[test]
fn old_booleans_are_booleans_where_one_is_expected() {
    for (text, value) in
        [("yes", true), ("On", true), ("TRUE", true), ("no", false), ("OFF", false), ("false", false)]
    {
        let loaded = event_loop(&format!("stop_on_error: {text}")).ok();
        assert_eq!(loaded.definition.event_loop.stop_on_error, value, "{text}");
    }
    // And only there.
    let loaded = event_loop("completion_promise: yes").ok();
    assert_eq!(loaded.definition.event_loop.completion_promise, Some("yes".to_owned()));
    assert!(event_loop("stop_on_error: 'yes'").load().is_err());
}

#[test]
fn limits_on_both_sides() {
    let ok = |line: &str| event_loop(line).load().is_ok();
    for (good, bad) in [
        ("max_iterations: 1", "max_iterations: 0"),
        ("max_iterations: 4294967295", "max_iterations: 4294967296"),
        ("max_iterations: none", "max_iterations: None"),
        ("max_attempts: 1", "max_attempts: 0"),
        ("max_consecutive_failures: 1", "max_consecutive_failures: 0"),
        ("iteration_timeout: 0.001", "iteration_timeout: 0"),
        ("iteration_timeout: 1ms", "iteration_timeout: 0.0001"),
        ("silence_timeout: none", "silence_timeout: 0"),
        ("delay: 0", "delay: -0.001"),
        ("delay: 0s", "delay: none"),
        ("max_wall_time: 36500d", "max_wall_time: 36500.1d"),
        ("max_runtime: '30'", "max_runtime: '-30'"),
        ("max_cost_usd: 0.01", "max_cost_usd: 0"),
        ("max_cost_usd: none", "max_cost_usd: -1"),
        ("max_cost_usd: 5", "max_cost_usd: '5'"),
        ("max_cost_usd: 1e3", "max_cost_usd: 1e999"),
        ("failure_backoff: {factor: 1}", "failure_backoff: {factor: 0.99}"),
        ("failure_backoff: {initial: 60s}", "failure_backoff: {initial: 60.001s}"),
        ("failure_backoff:", "failure_backoff: 5"),
    ] {
        assert!(ok(good), "{good}");
        assert!(!ok(bad), "{bad}");
    }
}

#[test]
fn a_run_can_not_be_made_endless() {
    let ok = |lines: &str, reports_cost: bool| {
        let agent = reports_cost.then(|| "claude".to_owned());
        event_loop(lines).flags(|flags| flags.agent = agent).load().is_ok()
    };
    assert!(ok("max_iterations: none", false));
    assert!(ok("max_runtime: none", false));
    assert!(!ok("max_iterations: none\nmax_runtime: none", false));
    assert!(!ok("max_iterations: none\nmax_runtime: none", true));
    assert!(!ok("max_iterations: none\nmax_runtime: none\nmax_cost_usd: 5", false));
    // `max_runtime` goes only while iterations are counted, whatever is paid for them.
    assert!(!ok("max_iterations: none\nmax_runtime: none\nmax_cost_usd: 5", true));
    assert!(!ok("max_wall_time: none", false));
}

#[test]
fn flags_reach_their_settings() {
    let loaded = event_loop("delay: 1")
        .flags(|flags| {
            let text = |text: &str| Some(text.to_owned());
            flags.prompt = text("fix #5: it's broken");
            flags.agent = text("a 'b c'");
            flags.max_iterations = text("7");
            flags.max_runtime = text("1h30m");
            flags.max_cost = text("2.5");
            flags.iteration_timeout = text("1");
            flags.delay = text("0.5");
            flags.stop_on_error = true;
            flags.once = true;
        })
        .ok();
    let plan = loaded.to_plan(Some("logs".into()), false).expect("a plan");
    assert_eq!(plan.task, Task::Text("fix #5: it's broken".to_owned()));
    assert_eq!(plan.agent.args, ["b c"]);
    assert_eq!(plan.event_loop.max_iterations, Some(7));
    assert_eq!(plan.event_loop.max_runtime, Some(5400 * SECOND));
    assert_eq!(plan.event_loop.max_cost_usd, Some(2.5));
    assert_eq!(plan.event_loop.iteration_timeout, SECOND);
    assert_eq!(plan.event_loop.delay, SECOND / 2);
    assert!(plan.event_loop.stop_on_error && plan.once);
    assert_eq!(plan.log_dir, Some("logs".into()));
    assert_eq!(from(&loaded, "enabled"), ("false".to_owned(), "--once".to_owned()));
}

#[test]
fn set_reads_yaml_and_leaves_other_text_alone() {
    let promise = |value: &str| {
        let loaded = event_loop("delay: 1").set(&format!("event_loop.completion_promise={value}")).ok();
        loaded.definition.event_loop.completion_promise.unwrap()
    };
    assert_eq!(promise("DONE #5 now"), "DONE #5 now");
    assert_eq!(promise("[unclosed"), "[unclosed");
    assert_eq!(promise("'quoted'"), "quoted");
    assert_eq!(promise("a=b=c"), "a=b=c");
    let loaded = event_loop("delay: 1").set("event_loop.failure_backoff={initial: 3s}").ok();
    assert_eq!(loaded.definition.event_loop.failure_backoff.initial, 3 * SECOND);
    assert_eq!(loaded.definition.event_loop.failure_backoff.max, 60 * SECOND);
}

#[test]
fn frontmatter_and_body() {
    let parts = |text: &str| parse_ralph_md(text.as_bytes(), Path::new("RALPH.md")).unwrap();
    let settings = |md: &RalphMd| md.frontmatter.clone().map(|range| md.text[range].to_owned());
    let md = parts("---\nagent: a\n---\n\nHello   \n\n");
    assert_eq!((settings(&md).as_deref(), md.body.as_str()), (Some("agent: a\n"), "Hello"));
    let md = parts("\u{feff}---\r\nagent: a\r\n---\r\nOne\r\n---\r\nTwo\r\n");
    assert_eq!((settings(&md).as_deref(), md.body.as_str()), (Some("agent: a\r\n"), "One\n---\nTwo"));
    let md = parts("---\n---\nHello");
    assert_eq!((settings(&md).as_deref(), md.body.as_str()), (Some(""), "Hello"));
    let md = parts("---\nagent: a\n---");
    assert_eq!((settings(&md).as_deref(), md.body.as_str()), (Some("agent: a\n"), ""));
    for text in
        ["\n---\nagent: a\n---\nHello", "---\nagent: a\nHello", " ---\na: b\n---\n", "---- \na: b\n---\n", ""]
    {
        let md = parts(text);
        assert_eq!((settings(&md), md.body.as_str()), (None, text.trim()), "{text:?}");
    }
}

#[test]
fn the_body_is_the_prompt_unless_the_command_line_gives_one() {
    let file = "---\nagent: ./agent.sh\n---\nDo it";
    let workspace = md(file);
    assert_eq!(workspace.ok().task, Task::RalphMd(workspace.path("RALPH.md")));
    let flagged = md(file).target("RALPH.md").flags(|flags| flags.prompt = Some("other".to_owned()));
    assert_eq!(flagged.ok().task, Task::Text("other".to_owned()));
    // One's own default prompt is no reason to ignore the body.
    let workspace = md(file).user_config("prompt: mine\n");
    assert_eq!(workspace.ok().task, Task::RalphMd(workspace.path("RALPH.md")));
    let empty = md("---\nagent: ./agent.sh\nprompt: here\n---\n");
    assert_eq!(empty.ok().task, Task::Text("here".to_owned()));
    // Without settings, the agent can come from elsewhere.
    let bare = md("Do it").flags(|flags| flags.agent = Some("a".to_owned()));
    assert_eq!(bare.ok().agent.program, "a");
}

#[test]
fn prompt_files_are_looked_for_beside_the_file_that_names_them() {
    let files = [
        ("sub/my.yml", "agent: a\nprompt_file: P.md\n"),
        ("sub/P.md", "x"),
        ("PROMPT.md", "y"),
        ("a.yml", "agent: a"),
    ];
    let workspace = Workspace::new(&files).target("sub/my.yml");
    assert_eq!(workspace.ok().task, Task::File(workspace.path("sub/P.md")));
    let workspace = Workspace::new(&files).target("sub/my.yml").set("prompt_file=PROMPT.md");
    assert_eq!(workspace.ok().task, Task::File(workspace.path("PROMPT.md")));
    // Where ralph-orchestrator looks when nothing is said.
    let workspace = Workspace::new(&files).target("a.yml");
    assert_eq!(workspace.ok().task, Task::File(workspace.path("PROMPT.md")));
}

#[test]
fn unreadable_and_endless_files_are_errors() {
    let workspace = yml("");
    std::fs::remove_file(workspace.path("ralph.yml")).unwrap();
    let file = std::fs::File::create(workspace.path("ralph.yml")).unwrap();
    file.set_len((16 << 20) + 1).unwrap();
    assert!(workspace.err().contains("larger than 16 MiB"));
    file.set_len((1 << 20) + 1).unwrap();
    assert!(workspace.err().contains("more than 1 MiB of settings"));
    let user = event_loop("delay: 1").user_config("");
    let config = user.dir.path().join("home/.config/ralph/config.yml");
    std::fs::remove_file(&config).unwrap();
    assert!(user.load().is_ok());
    std::fs::create_dir(&config).unwrap();
    assert!(user.err().contains("cannot be read"));
}

#[test]
fn set_adds_to_the_agent_that_a_flag_names() {
    let loaded = yml("agent: {command: ./old.sh, env: {A: '1'}}\nprompt: x\n")
        .set("agent.output=claude-stream-json")
        .flags(|flags| flags.agent = Some("./new.sh".to_owned()))
        .ok();
    assert_eq!(
        (loaded.agent.program.as_str(), loaded.agent.output.as_deref()),
        ("./new.sh", Some("claude-stream-json"))
    );
    assert!(loaded.agent.env.is_empty(), "the old agent is gone as a whole");
}

#[test]
fn known_agents_are_completed_and_others_are_plain_commands() {
    let plan =
        |agent: &str| yml(&format!("agent: {agent}\nprompt: x\n")).ok().to_plan(None, false).expect("a plan");
    let claude = plan("claude").agent;
    assert_eq!((claude.name.as_str(), claude.output.as_str()), ("claude", "claude-stream-json"));
    assert!(claude.args.contains(&"--dangerously-skip-permissions".to_owned()) && !claude.bypass.is_empty());
    let careful = plan("{name: claude, autonomous: false, model: opus}").agent;
    assert!(careful.bypass.is_empty() && careful.args.windows(2).any(|pair| pair == ["--model", "opus"]));
    let own = plan("./bin/claude -p --verbose").agent;
    assert_eq!((own.program.as_str(), own.name.as_str()), ("./bin/claude", "claude"));
    assert_eq!(
        own.args.iter().filter(|arg| *arg == "-p" || *arg == "--verbose").count(),
        2,
        "{:?}",
        own.args
    );
    let other = plan("./my-agent.sh --fast");
    assert_eq!((other.agent.name.as_str(), other.agent.output.as_str()), ("command", "text"));
    assert_eq!((other.event_loop.silence(), plan("claude").event_loop.silence()), (None, Some(600 * SECOND)));
    let err =
        yml("agent: {name: claud}\nprompt: x\n").ok().to_plan(None, false).expect_err("unknown").to_string();
    assert!(err.contains("did you mean `claude`"), "{err}");
    let fallback =
        yml("agent: claude\nfallback: [codex, gemini -m x]\nprompt: x\n").ok().to_plan(None, false);
    let names: Vec<String> = fallback.expect("a plan").fallback.into_iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["codex", "gemini"]);
}
