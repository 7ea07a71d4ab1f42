//! The control socket as another program sees it, and who may ask what over it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, kill_process};

use crate::harness::*;

/// A script's way to keep the agent until the file `go` is there.
const WAITS: &str = "write up-%i x\nwait-for go";

fn connect(world: &World) -> UnixStream {
    UnixStream::connect(world.run_dir().join("control")).expect("the socket")
}

struct Talk(BufReader<UnixStream>);

impl Talk {
    fn with(world: &World) -> Self {
        Self(BufReader::new(connect(world)))
    }

    fn say(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).expect("write");
    }

    fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("read");
        (!line.is_empty()).then(|| serde_json::from_str(&line).expect("JSON"))
    }

    fn ask(&mut self, line: &str) -> Value {
        self.say(line);
        self.hear().expect("an answer")
    }
}

#[test]
fn a_program_says_hello_and_asks_everything_that_a_key_can_do() {
    let world = World::new();
    let live = world.start_run(WAITS, &["-n", "3"]);
    world.wait_for_file("up-1");
    let mut talk = Talk::with(&world);
    let hello = talk.ask(r#"{"request":"hello"}"#);
    assert_eq!(
        (&hello["reply"], &hello["protocol"], &hello["snapshot"]),
        (&json!("hello"), &json!(1), &json!(1))
    );
    assert_eq!((&hello["run"], &hello["ralph"]), (&json!(world.run_id()), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(hello["rights"], json!(["watch", "steer", "emit", "declare"]));
    let mut types = |line: &str| -> Vec<String> {
        let reply = talk.ask(line);
        assert_eq!(reply["reply"], "events", "{reply}");
        let events = reply["events"].as_array().expect("a list").iter();
        events.map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
    };
    assert_eq!(types(r#"{"request":"command","command":"say","text":"hi"}"#), ["guidance.added"]);
    assert_eq!(types(r#"{"request":"command","command":"pause"}"#), ["pause.requested"]);
    assert_eq!(types(r#"{"request":"command","command":"unpause"}"#), ["unpause.requested"]);
    for nothing in
        [r#""skip_wait""#, r#""review_loop""#, r#""reset_hat","hat":"a""#, r#""unpause","now":true"#]
    {
        assert_eq!(types(&format!(r#"{{"request":"command","command":{nothing}}}"#)), [] as [&str; 0]);
    }
    let snapshot = talk.ask(r#"{"request":"snapshot"}"#);
    assert_eq!(snapshot["snapshot"]["run"], json!(world.run_id()), "{snapshot}");
    let stop = r#"{"request":"command","command":"stop","how":"after_iteration"}"#;
    assert_eq!(talk.ask(stop)["events"][0]["type"], "stop.requested");
    world.write("go", "");
    live.wait().expect(130);
    world.verify();
}

#[test]
fn garbage_is_answered_with_a_sentence_and_the_run_goes_on() {
    let world = World::new();
    let live = world.start_run(WAITS, &["-n", "1"]);
    world.wait_for_file("up-1");
    let mut talk = Talk::with(&world);
    for line in [
        "",
        "garbage",
        "{",
        "[]",
        "\u{1b}\0",
        r#"{"request":"nothing"}"#,
        r#"{"request":"command","command":"resume"}"#,
    ] {
        let reply = talk.ask(line);
        assert_eq!(
            (&reply["reply"], &reply["error"]),
            (&json!("error"), &json!("bad_request")),
            "{line}: {reply}"
        );
        assert!(
            reply["message"].as_str().is_some_and(|text| text.contains("does not understand")),
            "{reply}"
        );
    }
    let mut long = Talk::with(&world);
    let line = vec![b'x'; (16 << 20) + 1];
    // The run hangs up once it has seen enough.
    let _ = long.0.get_mut().write_all(&line);
    assert_eq!(long.hear().expect("an answer")["error"], "too_large");
    assert_eq!(
        talk.ask(r#"{"request":"hello"}"#)["reply"],
        "hello",
        "one bad request does not end a connection"
    );
    world.write("go", "");
    live.wait().expect(3);
}

#[test]
fn connections_have_a_number_and_one_too_many_is_told() {
    let world = World::new();
    let live = world.start_run(WAITS, &["-n", "1"]);
    world.wait_for_file("up-1");
    let mut seats: Vec<Talk> = (0..64).map(|_| Talk::with(&world)).collect();
    // Answered, so each of them has its seat.
    seats.iter_mut().for_each(|talk| assert_eq!(talk.ask(r#"{"request":"hello"}"#)["reply"], "hello"));
    let reply = Talk::with(&world).hear().expect("an answer");
    assert_eq!(reply["error"], "busy");
    let done = world.ralph(["pause"]).expect(1);
    assert!(done.stderr.contains("64 connections already"), "{}", done.stderr);
    drop(seats);
    wait_until("a free seat", || Talk::with(&world).ask(r#"{"request":"hello"}"#)["reply"] == "hello");
    world.write("go", "");
    live.wait().expect(3);
}

#[test]
fn an_agent_may_not_steer_the_run_it_works_for() {
    let world = World::new();
    let script = "sh for verb in stop pause unpause 'say hi'; do ralph $verb >> told 2>> told; echo \"= $?\" >> told; done\n\
        sh printf '{\"request\":\"hello\",\"token\":\"%s\"}\\n' \"$RALPH_TOKEN\" > new && mv new hello\nwait-for go";
    let live = world.start_run(script, &["-n", "1"]);
    world.wait_for_file("hello");
    let hello = Talk::with(&world).ask(world.read("hello").trim());
    assert_eq!(hello["rights"], json!(["emit", "declare"]));
    let refused = Talk::with(&world).ask(r#"{"request":"command","command":"pause","token":"wrong"}"#);
    assert_eq!(refused["error"], "refused");
    world.write("go", "");
    live.wait().expect(3);
    let told = world.read("told");
    assert_eq!(told.matches("= 1\n").count(), 4, "{told}");
    assert_eq!(
        told.matches("error: an agent may not steer the run it works for; `ralph emit` is what it has")
            .count(),
        4,
        "{told}"
    );
    let kinds = world.events();
    for kind in ["stop.requested", "pause.requested", "guidance.added"] {
        assert_eq!(kinds.of(kind).len(), 0, "{kind}");
    }
}

#[test]
fn an_agent_may_steer_a_run_that_it_started_and_that_run_may_not_steer_it() {
    let world = World::new();
    fs::create_dir(world.path("inner")).expect("a folder");
    let inner = world.agent(
        "sh ralph stop $OUTER > ../work/inner-told 2>&1; echo \"= $?\" >> ../work/inner-told\nwait-for never",
    );
    let script = format!(
        "sh export OUTER=$RALPH_RUN_ID; ralph run -q -C ../inner -p x -a '{inner}' > inner.log 2>&1; echo $? > inner-code\n\
         sh true"
    );
    let helper = "sh until grep -q = inner-told 2> /dev/null; do sleep 0.05; done; ralph stop --now -C ../inner > outer-told";
    let both =
        script.replacen("; ralph run", &format!("; ({}) & ralph run", helper.trim_start_matches("sh ")), 1);
    world.run(&both, &["-n", "1"]).expect(3);
    let told = world.read("inner-told");
    assert!(told.contains("an agent may not steer") && told.ends_with("= 1\n"), "{told}");
    assert_eq!(world.read("inner-code").trim(), "130", "{}", world.read("inner.log"));
}

/// `cat` with the socket as its standard input: a reader that can be stopped like any other process.
struct Reader {
    child: Child,
    file: std::path::PathBuf,
}

impl Reader {
    fn start(world: &World, number: usize, from: u64) -> Self {
        let mut stream = connect(world);
        stream
            .write_all(format!("{{\"request\":\"subscribe\",\"from\":{from}}}\n").as_bytes())
            .expect("write");
        let file = world.path(format!("reader-{number}"));
        let mut command = world.command("cat");
        command.stdin(Stdio::from(OwnedFd::from(stream))).stdout(File::create(&file).expect("a file"));
        Self { child: command.spawn().expect("cat"), file }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }

    fn seqs(mut self) -> Vec<u64> {
        assert!(self.child.wait().expect("cat").success());
        let text = read(&self.file);
        let mut lines = text.lines();
        let head: Value = serde_json::from_str(lines.next().expect("an answer")).expect("JSON");
        assert_eq!(head["reply"], "subscribed");
        lines
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_u64().expect("a number"))
            .collect()
    }
}

/// What claude prints while it calls its shell this often.
fn tool_calls(count: usize) -> String {
    let command = "x".repeat(1000);
    let call = |n: usize| {
        let input = json!({ "command": command });
        let call = json!({ "type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": input });
        let result = json!({ "type": "tool_result", "tool_use_id": format!("t{n}"), "content": "done" });
        let line = |kind: &str, part: Value| json!({ "type": kind, "message": { "content": [part] } });
        format!("{}\n{}\n", line("assistant", call), line("user", result))
    };
    (0..count).map(call).collect()
}

#[test]
fn eight_readers_see_every_record_once_though_one_of_them_is_stopped() {
    let world = World::new();
    // An agent whose every line is a record; far more of them than a socket holds.
    fs::write(world.path("stream"), tool_calls(3000)).expect("write");
    let wait = |file: &str| format!("until [ -e {file} ]; do sleep 0.02; done");
    let script =
        format!("#!/bin/sh\ntouch up\n{}\ncat ../stream\ntouch flooded\n{}\n", wait("begin"), wait("go"));
    fs::write(world.path("claude"), script).expect("write");
    fs::set_permissions(world.path("claude"), PermissionsExt::from_mode(0o700)).expect("a mode");
    let agent = world.path("claude").display().to_string();
    let live = world.start(["run", "-q", "-n", "1", "-p", "x", "-a", &agent]);
    world.wait_for_file("up");
    let readers: Vec<Reader> = (0..8).map(|n| Reader::start(&world, n, if n == 7 { 4 } else { 1 })).collect();
    readers[3].signal(Signal::STOP);
    world.write("begin", "");
    world.wait_for_file("flooded");
    readers[3].signal(Signal::CONT);
    world.write("go", "");
    live.wait();
    let last = world.events().of("run.stopped")[0]["seq"].as_u64().expect("a number");
    assert!(last > 6000, "{last}");
    for (n, reader) in readers.into_iter().enumerate() {
        let first = if n == 7 { 4 } else { 1 };
        let seqs = reader.seqs();
        // One that was stopped may be left behind at the end of the run, but never with a gap.
        let to = if n == 3 { seqs.last().copied().unwrap_or(0) } else { last };
        assert_eq!(seqs, (first..=to).collect::<Vec<_>>(), "reader {n}");
    }
}
