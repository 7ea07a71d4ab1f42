//! Names, command lines, and what the streams of unmeasured agents look like.

use super::*;
use crate::dialogue::Stream;
use crate::signal::AgentSignal;
use crate::tool::ToolResult;

fn turn(args: &[&str]) -> Turn {
    let args = args.iter().map(|arg| arg.to_string()).collect();
    Turn { args, autonomous: true, ..Turn::default() }
}

fn line(name: &str, turn: &Turn) -> String {
    let spec = by_name(name).unwrap().command(turn).unwrap();
    let mut words = vec![spec.program.clone()];
    words.extend(spec.argv("PROMPT", "FILE"));
    words.join(" ")
}

#[test]
fn the_plain_command_lines() {
    let bare = turn(&[]);
    for (name, want) in [
        (
            "claude",
            "claude -p --output-format stream-json --verbose --include-partial-messages --dangerously-skip-permissions",
        ),
        ("codex", "codex exec --json --dangerously-bypass-approvals-and-sandbox -"),
        ("opencode", "opencode run --format json --print-logs --log-level ERROR --auto"),
        ("gemini", "gemini --output-format stream-json --yolo --skip-trust"),
        ("qwen", "qwen --output-format stream-json --include-partial-messages --yolo"),
        ("pi", "pi --mode json -p"),
        ("goose", "goose run -q --output-format stream-json --no-session -i -"),
        ("copilot", "copilot --output-format json --no-auto-update --allow-all"),
        ("kimi", "kimi --output-format stream-json -p PROMPT"),
        ("cline", "cline --json --auto-approve true PROMPT"),
        ("amp", "amp --execute --stream-json --dangerously-allow-all"),
        (
            "aider",
            "aider --no-pretty --no-stream --no-check-update --no-fancy-input --yes-always --message-file FILE",
        ),
    ] {
        assert_eq!(line(name, &bare), want);
    }
}

#[test]
fn a_model_is_found_in_the_users_own_arguments() {
    let model = |name: &str, args: &[&str]| by_name(name).unwrap().model_in(&turn(args).args);
    assert_eq!(model("codex", &["-m", "x", "exec"]).as_deref(), Some("x"));
    assert_eq!(model("codex", &["--model=x"]).as_deref(), Some("x"));
    assert_eq!(model("gemini", &["-mx"]).as_deref(), Some("x"));
    assert_eq!(model("claude", &["-p", "--", "--model", "x"]), None);
    assert_eq!(model("claude", &["--model"]), None);
    assert_eq!(model("goose", &["--model", "x"]), None, "it takes the model from its environment");
}

#[test]
fn how_the_prompt_goes_in() {
    let input = |name: &str| by_name(name).unwrap().command(&turn(&[])).unwrap().prompt;
    assert_eq!(input("claude"), PromptInput::Stdin);
    assert_eq!(input("codex"), PromptInput::Stdin);
    assert_eq!(input("kimi"), PromptInput::Arg);
    assert_eq!(input("cline"), PromptInput::Arg);
    assert_eq!(input("aider"), PromptInput::File);
}

#[test]
fn bypass_flags_can_be_left_out_and_are_told_apart() {
    for def in AGENTS.iter().filter(|def| def.name != "command") {
        let with = def.command(&turn(&[])).unwrap();
        let careful = def.command(&Turn::default()).unwrap();
        assert_eq!(careful.bypass, Vec::<String>::new(), "{}", def.name);
        for bypass in &with.bypass {
            let argv = careful.argv("", "").join(" ");
            let env: Vec<String> =
                careful.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert!(!argv.contains(bypass.as_str()) && !env.contains(bypass), "{}: {bypass}", def.name);
        }
        // These two ask for no permissions when run this way.
        assert_eq!(with.bypass.is_empty(), ["pi", "kimi"].contains(&def.name), "{}", def.name);
    }
}

#[test]
fn claude_as_root_is_told_of_a_sandbox_only_with_the_bypass() {
    let env = |turn: &Turn| by_name("claude").unwrap().command(turn).unwrap().env;
    let sandbox = ("IS_SANDBOX".to_string(), "1".to_string());
    let root = Turn { is_root: true, ..turn(&[]) };
    assert!(env(&root).contains(&sandbox));
    assert!(by_name("claude").unwrap().command(&root).unwrap().bypass.contains(&"IS_SANDBOX=1".to_string()));
    assert!(!env(&turn(&[])).contains(&sandbox));
    assert!(!env(&Turn { is_root: true, ..Turn::default() }).contains(&sandbox));
}

#[test]
fn nobody_touches_home_or_credentials() {
    for def in AGENTS.iter().filter(|def| def.name != "command") {
        for (name, _) in def.command(&turn(&[])).unwrap().env {
            let bad = ["HOME", "KEY", "TOKEN", "CONFIG", "AUTH"].iter().any(|word| name.contains(word));
            assert!(!bad, "{}: {name}", def.name);
        }
    }
}

/// Every flag an agent needs, given by the user in every form, is not given again.
#[test]
fn no_flag_is_given_twice() {
    for def in AGENTS.iter().filter(|def| def.name != "command") {
        let flags = def.line.flags.iter().chain(def.line.bypass);
        for flag in flags {
            for name in std::iter::once(&flag.name).chain(flag.same) {
                let mut forms: Vec<Vec<String>> = Vec::new();
                match flag.value {
                    None => forms.push(vec![name.to_string()]),
                    Some(value) => {
                        forms.push(vec![name.to_string(), value.to_string()]);
                        forms.push(vec![format!("{name}={value}")]);
                        if name.len() == 2 {
                            forms.push(vec![format!("{name}{value}")]);
                        }
                    }
                }
                for args in forms {
                    let turn = Turn { args: args.clone(), ..turn(&[]) };
                    let argv = def.command(&turn).unwrap().argv("PROMPT", "FILE");
                    let all: Vec<&&str> = std::iter::once(&flag.name).chain(flag.same).collect();
                    let count = argv.iter().filter(|arg| all.iter().any(|name| is_flag(arg, name))).count();
                    assert_eq!(count, 1, "{} {args:?}: {argv:?}", def.name);
                }
            }
        }
    }
}

fn is_flag(arg: &str, name: &str) -> bool {
    arg == name
        || arg
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('=') || (name.len() == 2 && !rest.is_empty()))
}

#[test]
fn a_model_is_given_once_and_the_users_own_wins() {
    for def in AGENTS.iter().filter(|def| !["command", "amp", "goose"].contains(&def.name)) {
        let ask = |args: &[&str]| {
            let turn = Turn { model: Some("ours".into()), ..turn(args) };
            def.command(&turn).unwrap().argv("PROMPT", "FILE")
        };
        assert_eq!(ask(&[]).iter().filter(|arg| *arg == "ours").count(), 1, "{}", def.name);
        for args in [&["--model", "theirs"][..], &["--model=theirs"]] {
            let argv = ask(args);
            assert!(!argv.contains(&"ours".to_string()), "{}: {argv:?}", def.name);
        }
    }
    let goose = by_name("goose").unwrap().command(&Turn { model: Some("m".into()), ..turn(&[]) }).unwrap();
    assert!(goose.env.contains(&("GOOSE_MODEL".to_string(), "m".to_string())));
    let amp = by_name("amp").unwrap().command(&Turn { model: Some("m".into()), ..turn(&[]) });
    assert_eq!(amp, Err(CommandError::NoModel { agent: "amp" }));
}

#[test]
fn own_arguments_are_completed_where_they_stand() {
    let own = turn(&["-p", "--model", "x"]);
    assert_eq!(
        line("claude", &own),
        "claude -p --model x --output-format stream-json --verbose --include-partial-messages --dangerously-skip-permissions"
    );
    assert_eq!(
        line("codex", &turn(&["e", "-mgpt", "--", "-"])),
        "codex e -mgpt --json --dangerously-bypass-approvals-and-sandbox -- -"
    );
    assert_eq!(line("gemini", &turn(&["--approval-mode=auto_edit"])), {
        "gemini --approval-mode=auto_edit --output-format stream-json --skip-trust"
    });
    // What stands behind `--` is no flag.
    assert_eq!(
        line("copilot", &turn(&["--", "--allow-all"])),
        "copilot --output-format json --no-auto-update --allow-all -- --allow-all"
    );
}

#[test]
fn what_would_break_the_reading_is_refused() {
    let error = by_name("claude").unwrap().command(&turn(&["--output-format=text"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "claude: `--output-format text` cannot be used: ralph needs `--output-format stream-json`"
    );
    let error = by_name("kimi").unwrap().command(&turn(&["-p", "do it"])).unwrap_err();
    assert_eq!(error.to_string(), "kimi: `-p` is how ralph passes the prompt; leave it out");
    assert_eq!(by_name("command").unwrap().command(&turn(&[])), Err(CommandError::NoProgram));
}

#[test]
fn a_program_is_recognised_by_its_file_name() {
    for (program, name) in [
        ("./bin/claude", Some("claude")),
        ("/usr/local/bin/codex", Some("codex")),
        ("C:\\tools\\claude.cmd", Some("claude")),
        ("./my-agent.sh", None),
        ("claude-wrapper", None),
    ] {
        assert_eq!(by_program(program).map(|def| def.name), name, "{program}");
    }
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest() {
    assert_eq!(by_name("gemni").unwrap_err().nearest, Some("gemini"));
    assert_eq!(by_name("codx").unwrap_err().nearest, Some("codex"));
    assert_eq!(by_name("zzz").unwrap_err().nearest, None);
    assert_eq!(
        by_name("cluade").unwrap_err().to_string(),
        "unknown agent `cluade`, did you mean `claude`?; known: claude, codex, opencode, gemini, qwen, pi, goose, \
         copilot, kimi, cline, amp, aider, command"
    );
    assert_eq!(by_format("claude-stream-json").unwrap().name, "claude");
    assert_eq!(by_format("text").unwrap().name, "command");
    assert_eq!(by_format("claude-json").unwrap_err().nearest, Some("claude-stream-json"));
}

#[test]
fn names_formats_and_file_names_are_unique() {
    let mut files: Vec<&str> = AGENTS.iter().flat_map(|def| def.file_names).copied().collect();
    let mut names: Vec<&str> = AGENTS.iter().map(|def| def.name).collect();
    let mut formats: Vec<&str> = AGENTS.iter().map(|def| def.stream.format).collect();
    for list in [&mut files, &mut names, &mut formats] {
        let all = list.len();
        list.sort();
        list.dedup();
        assert_eq!(list.len(), all, "{list:?}");
    }
}

fn read(name: &str, stdout: &str) -> Vec<AgentSignal> {
    let mut dialogue = by_name(name).unwrap().dialogue();
    let mut out = Vec::new();
    dialogue.take(Stream::Stdout, stdout.as_bytes(), &mut out);
    dialogue.finish(&mut out);
    out
}

fn result(signals: &[AgentSignal]) -> (bool, &str) {
    match signals.last() {
        Some(AgentSignal::Result { ok, text, .. }) => (*ok, text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn plain_text_is_one_message_and_its_lines_are_deltas() {
    let out = read("command", "one\r\n\r\n<ralph>BLOCKED: a\nb</ralph>");
    assert_eq!(result(&out), (true, "one\n\n<ralph>BLOCKED: a\nb</ralph>\n"));
    let deltas = out.iter().filter(|signal| matches!(signal, AgentSignal::Text { delta: true, .. })).count();
    let whole = out.iter().filter(|signal| matches!(signal, AgentSignal::Text { delta: false, .. })).count();
    assert_eq!((deltas, whole), (4, 1));
}

#[test]
fn aider_errors_retries_and_cost_are_not_its_words() {
    let out = read(
        "aider",
        "litellm.RateLimitError: slow down\nRetrying in 0.5 seconds...\nDone.\n\
         Tokens: 2.1k sent, 15 received. Cost: $0.0014 message, $0.0120 session.\n",
    );
    assert_eq!(result(&out), (true, "Done.\n"));
    assert!(out.contains(&AgentSignal::Cost { usd: 0.012, scope: crate::signal::Scope::Run }));
    let out = read("aider", "litellm.AuthenticationError: bad key\n");
    assert!(!result(&out).0);
    assert!(matches!(&out[0], AgentSignal::Error { class: crate::signal::FailureClass::SignIn, .. }));
}

#[test]
fn claude_limits_partial_texts_and_subagents() {
    let out = read(
        "claude",
        concat!(
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794848400,"rateLimitType":"five_hour","utilization":1.0}}"#,
            "\n",
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
            "\n",
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}}"#,
            "\n",
            r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}}"#,
            "\n",
            r#"{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"id":"m","content":[{"type":"text","text":"for my parent"}]}}"#,
            "\n",
            r#"{"type":"something_new","message":"text"}"#,
            "\n",
            r#"{"result":"done","is_error":false,"subtype":"success","type":"result"}"#,
        ),
    );
    assert_eq!(out.len(), 4, "{out:?}");
    assert!(matches!(&out[0], AgentSignal::RateLimit { resets_at: Some(1_794_848_400), .. }));
    assert_eq!(out[1], AgentSignal::Text { text: "Hi".into(), delta: true });
    assert!(matches!(&out[2], AgentSignal::Usage { usage, .. } if usage.output == 7));
    assert_eq!(result(&out), (true, "done"));
}

#[test]
fn a_tool_result_too_long_to_keep_still_ends_its_tool() {
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"yes"}}]}}"#;
    let head = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":""#;
    let long = format!("{head}{}\"}}]}}}}", "y\\n".repeat(2_000_000));
    let out = read("claude", &format!("{call}\n{long}\n"));
    let noise = format!("[a line of type \"user\" of {} bytes was skipped]", long.len());
    assert!(matches!(&out[1], AgentSignal::Noise { line } if *line == noise), "{:?}", out[1]);
    assert!(matches!(&out[2], AgentSignal::ToolResult(ToolResult { id, .. }) if id == "t1"));

    let head =
        r#"{"type":"item.completed","item":{"id":"item_7","type":"command_execution","aggregated_output":""#;
    let tail = r#"","exit_code":3,"status":"failed"}}"#;
    let out = read("codex", &format!("{head}{}{tail}\n", "y".repeat(2_000_000)));
    assert!(
        matches!(&out[1], AgentSignal::ToolResult(ToolResult { id, exit_code: Some(3), .. }) if id == "item_7"),
        "{out:?}"
    );

    for (agent, head, tail) in [
        ("gemini", r#"{"type":"tool_result","tool_id":"t1","status":"success","output":""#, r#""}"#),
        (
            "pi",
            r#"{"type":"tool_execution_end","toolCallId":"t1","result":{"content":[{"text":""#,
            r#""}]},"isError":false}"#,
        ),
        (
            "copilot",
            r#"{"type":"tool.execution_complete","data":{"toolCallId":"t1","result":{"content":""#,
            r#""}}}"#,
        ),
        ("kimi", r#"{"role":"tool","tool_call_id":"t1","content":""#, r#""}"#),
        (
            "cline",
            r#"{"type":"agent_event","event":{"type":"content_end","toolCallId":"t1","output":[{"result":""#,
            r#""}]}}"#,
        ),
    ] {
        let out = read(agent, &format!("{head}{}{tail}\n", "y".repeat(2_000_000)));
        let ended = out
            .iter()
            .any(|signal| matches!(signal, AgentSignal::ToolResult(ToolResult { id, .. }) if id == "t1"));
        assert!(ended, "{agent}: {out:?}");
    }
}

#[test]
fn thinking_of_gemini_counts_as_output() {
    let mut dialogue = by_name("gemini").unwrap().dialogue();
    let mut out = Vec::new();
    let line = br#"{"type":"result","status":"success","stats":{"total_tokens":4040,"input_tokens":4000,"output_tokens":30,"cached":3000,"input":1000}}
"#;
    dialogue.take(Stream::Stdout, line, &mut out);
    let usage = out.iter().find_map(|signal| match signal {
        AgentSignal::Usage { usage, .. } => {
            Some((usage.input, usage.cache_read, usage.output, usage.reasoning))
        }
        _ => None,
    });
    assert_eq!(usage, Some((1000, 3000, 40, 10)));
}
