//! How a program is started: arguments, environment, descriptors, and what goes wrong.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use ralph_core::plan::Contain;
use ralph_runtime::process::{Exit, Spec, Stdin, Supervisor};

use crate::support::{contain, run, sh, start, start_with, stat, write_file};

crate::trials![
    exit_codes_and_signals_are_told_apart,
    arguments_environment_and_directory_arrive,
    the_prompt_is_a_file_that_need_not_be_read,
    without_a_prompt_stdin_is_empty,
    the_agent_is_alone_in_its_group_in_the_keepers_session,
    the_agent_starts_with_default_signals,
    the_keeper_does_not_answer_to_our_name,
    what_cannot_be_started_says_why,
    a_missing_keeper_is_a_failed_spawn,
    a_keeper_that_dies_idle_is_replaced,
];

fn exit_codes_and_signals_are_told_apart() {
    for code in [0, 1, 7, 127, 255] {
        assert_eq!(run(sh(&format!("exit {code}"))).end.exit, Exit::Code(code));
    }
    for signal in [1, 6, 9, 11, 15] {
        assert_eq!(run(sh(&format!("kill -{signal} $$"))).end.exit, Exit::Signal(signal));
    }
    let end = run(sh("exit 0")).end;
    assert_eq!((end.killed_leftovers, end.leftovers_alive, end.drained), (0, false, true));
}

fn arguments_environment_and_directory_arrive() {
    let dir = tempfile::tempdir().unwrap();
    let odd = OsString::from_vec(b"\xff two\nlines".to_vec());
    let script = r#"printf '%s|' "$#" "$1" "$ADDED" "${HOME-none}" "$PWD"; echo oops >&2"#;
    let mut spec = sh(script);
    spec.cwd = dir.path().canonicalize().unwrap();
    spec.args.extend(["sh".into(), "a  b".into(), odd]);
    spec.env = vec![("ADDED".into(), Some("yes".into())), ("HOME".into(), None)];
    let expected = format!("2|a  b|yes|none|{}|", spec.cwd.display());
    let done = run(spec);
    assert_eq!((done.stdout, done.stderr), (expected, "oops\n".to_owned()));
}

fn the_prompt_is_a_file_that_need_not_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let prompt = dir.path().join("prompt");
    fs::write(&prompt, vec![b'x'; 1 << 20]).unwrap();
    let with_prompt = |script| run(Spec { stdin: Stdin::File(prompt.clone()), ..sh(script) });
    assert_eq!(with_prompt("exit 5").end.exit, Exit::Code(5));
    assert_eq!(with_prompt("wc -c").stdout.trim(), "1048576");
    // Read-only: the agent cannot change the record of what it was asked.
    assert_eq!(with_prompt("echo forged >&0 || exit 9").end.exit, Exit::Code(9));
}

fn without_a_prompt_stdin_is_empty() {
    let done = run(sh("cat; echo end"));
    assert_eq!((done.end.exit, done.stdout.as_str()), (Exit::Code(0), "end\n"));
}

fn the_agent_is_alone_in_its_group_in_the_keepers_session() {
    let run = start(sh("echo up $PPID; exec sleep 1000"));
    let said = run.await_output("\n").trim().trim_start_matches("up ").to_owned();
    let pid = run.handle.pid().unwrap();
    // In a namespace the process above the agent has another number for it than for us.
    let keeper = if contain() == Contain::Namespace { stat(pid, 1) } else { said.clone() };
    assert_eq!(said, if contain() == Contain::Namespace { "1".to_owned() } else { keeper.clone() });
    assert_eq!([stat(pid, 1), stat(pid, 2), stat(pid, 3)], [keeper.clone(), pid.to_string(), keeper.clone()]);
    assert_ne!(keeper, std::process::id().to_string());
    assert_eq!(stat(pid, 4), "0", "a controlling terminal");
    run.handle.kill();
    run.await_exit();
}

fn the_agent_starts_with_default_signals() {
    let status = run(sh("cat /proc/self/status")).stdout;
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // SIGPIPE is ignored in a Rust program and so in the keeper; it must not be in the agent.
    let keepers_business = [1, 2, 3, 10, 12, 13, 14, 15, 17].map(|signal: u32| 1 << (signal - 1));
    assert_eq!(mask("SigIgn:") & keepers_business.iter().sum::<u64>(), 0, "{status}");
    assert_eq!(mask("SigBlk:"), 0, "{status}");
}

fn the_keeper_does_not_answer_to_our_name() {
    let done = run(sh("cat /proc/$PPID/comm; tr '\\0' ' ' < /proc/$PPID/cmdline"));
    let role = if contain() == Contain::Namespace { "first " } else { "" };
    assert_eq!(done.stdout, format!("agent-keeper\nagent-keeper __keeper {role}"));
}

fn what_cannot_be_started_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode| {
        let path = dir.path().join(name);
        write_file(&path, content.as_bytes(), mode);
        Spec::new(path, dir.path())
    };
    let prompt_gone = Spec { stdin: Stdin::File(dir.path().join("gone")), ..sh("exit 0") };
    let cases = [
        (Spec::new(dir.path().join("gone"), "/"), true, "was not found"),
        (file("script", "#!/no/such/shell\n", 0o755), true, "interpreter"),
        (file("plain", "#!/bin/sh\n", 0o644), true, "may not be executed"),
        (Spec::new("/bin/true", dir.path().join("gone")), false, "gone"),
        (Spec::new("/bin/true", "/dev/null"), false, "/dev/null"),
        (file("noise", "\u{1}\u{2}\u{3}", 0o755), false, "noise"),
        (file("bare", "echo hi\n", 0o755), false, "bare has no first line that names its interpreter"),
        (file("alien", "\u{7f}ELF", 0o755), false, "alien: Exec format error"),
        (prompt_gone, false, "standard input"),
        (Spec { args: vec!["a\0b".into()], ..sh("") }, false, "nul byte"),
    ];
    for (spec, is_missing, says) in cases {
        match (run(spec).end.exit, is_missing) {
            (Exit::Missing { message }, true) | (Exit::NotStarted { message }, false) => {
                assert!(message.contains(says), "{message}");
            }
            (other, _) => panic!("{other:?} instead of {says}"),
        }
    }
}

fn a_missing_keeper_is_a_failed_spawn() {
    for exe in ["/no/such/keeper", "/bin/true"] {
        let done = start_with(&Supervisor::new(exe, 0, Contain::Keeper), sh("exit 0"), None).await_exit();
        let Exit::NotStarted { message } = done.end.exit else {
            panic!("{:?}", done.end);
        };
        assert!(message.starts_with("cannot start a keeper process"), "{message}");
    }
}

/// As after a Ctrl-C that hit it before it had left the terminal's session.
fn a_keeper_that_dies_idle_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let dies_once = dir.path().join("keeper");
    let [once, this] = [dir.path().join("once"), std::env::current_exe().unwrap()];
    let script =
        format!("#!/bin/sh\nmkdir '{}' && exit 1\nexec '{}' __keeper\n", once.display(), this.display());
    write_file(&dies_once, script.as_bytes(), 0o755);
    let done = start_with(&Supervisor::new(&dies_once, 0, Contain::Keeper), sh("exit 3"), None).await_exit();
    assert_eq!(done.end.exit, Exit::Code(3));
    assert!(once.exists());
}
