//! An agent that is answered while it works: its standard input is a pipe that stays open.

use std::time::Duration;

use ralph_agents::stream::lines::{Line, Lines};
use ralph_agents::{AgentSignal, Dialogue, Opening, Reply, Stream};
use ralph_core::event::{Event, IterationFinished, Outcome, RunStopped};
use ralph_core::plan::{AgentPlan, Plan, PromptVia, Task};
use ralph_runtime::process::{Exit, Spec, Stdin};
use ralph_runtime::session::OpenRun;
use ralph_store::Store;

use crate::support::{PATIENCE, SUPERVISOR, sh};
use crate::trials;

trials![
    an_agent_goes_on_when_it_is_answered,
    an_agent_that_never_reads_its_answers_ends_and_is_told_so,
    an_agent_that_closes_its_input_may_go_on,
    an_agent_that_waits_for_ever_is_ended,
    a_program_reads_the_end_of_its_input_and_not_before,
];

/// `ask NAME` is answered with `answer NAME`; `done TEXT` is the agent's last word, behind which its input ends.
#[derive(Default)]
struct Questions {
    lines: Lines,
    answers: Vec<u8>,
    done: bool,
}

impl Dialogue for Questions {
    fn open(&mut self, opening: &Opening<'_>, reply: &mut Reply) {
        let prompt = opening.prompt.lines().find(|line| line.starts_with("Task:")).unwrap_or_default();
        reply.bytes.extend_from_slice(format!("{prompt} in {}\n", opening.workspace).as_bytes());
    }

    fn take(&mut self, from: Stream, bytes: &[u8], out: &mut Vec<AgentSignal>) {
        if from == Stream::Stderr {
            return;
        }
        let Self { lines, answers, done } = self;
        lines.push(bytes, |line| {
            let Line::Whole(line) = line else { return };
            let line = String::from_utf8_lossy(line);
            match line.split_once(' ') {
                Some(("ask", name)) => answers.extend_from_slice(format!("answer {name}\n").as_bytes()),
                Some(("done", text)) => {
                    let (text, reason) = (text.to_owned(), String::new());
                    out.push(AgentSignal::Result { ok: true, text, reason });
                    *done = true;
                }
                _ => out.push(AgentSignal::Text { text: line.into_owned(), delta: false }),
            }
        });
    }

    fn answer(&mut self, reply: &mut Reply) {
        reply.bytes.append(&mut self.answers);
        reply.closes |= self.done;
    }

    fn finish(&mut self, _out: &mut Vec<AgentSignal>) {}
}

/// What became of a run of one iteration whose agent is this script: how the iteration and the run ended, and the words.
fn talk_to(script: &str) -> (IterationFinished, RunStopped, Vec<String>) {
    talk_with(script, |_| {})
}

fn talk_with(script: &str, change: impl FnOnce(&mut Plan)) -> (IterationFinished, RunStopped, Vec<String>) {
    let (workspace, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = vec!["-c".to_owned(), script.to_owned()];
    let agent = AgentPlan { args, prompt: PromptVia::Dialogue, ..AgentPlan::command("/bin/sh") };
    let mut plan = Plan::new("talk", workspace.path(), Task::Text("Task: paint it".to_owned()), agent);
    plan.once = true;
    change(&mut plan);
    let store = Store::at(state.path().join("state")).unwrap();
    let session = OpenRun::create(&store, plan).unwrap().talking(|| Box::new(Questions::default()));
    let (mut finished, mut words) = (None, Vec::new());
    let stopped = session.work("0.0.0", Default::default(), &mut |record| match &record.event {
        Event::AgentText(said) => words.push(said.text.clone()),
        Event::IterationFinished(iteration) => finished = Some(iteration.clone()),
        _ => {}
    });
    (finished.expect("an iteration"), stopped.unwrap(), words)
}

fn an_agent_goes_on_when_it_is_answered() {
    let (finished, stopped, words) = talk_to(
        "read -r task; echo \"I am to $task\"
         echo 'ask colour'; read -r answer; [ \"$answer\" = 'answer colour' ] || exit 9
         echo 'ask size'; read -r answer; [ \"$answer\" = 'answer size' ] || exit 8
         echo 'done <ralph>COMPLETE</ralph>'
         read -r more && exit 7; exit 0",
    );
    assert_eq!((finished.outcome, finished.exit_code, finished.error), (Outcome::Ok, Some(0), None));
    assert!(words[0].starts_with("I am to Task: paint it in /"), "{words:?}");
    assert!(finished.claims_complete);
    assert_eq!((stopped.reason.as_str(), stopped.exit_code), ("complete", 0));
}

/// It asks for far more than a pipe and ralph's own patience hold.
fn an_agent_that_never_reads_its_answers_ends_and_is_told_so() {
    let (finished, ..) = talk_to(
        "name=$(head -c 2000 /dev/zero | tr '\\0' x)
         yes \"ask $name\" | head -n 6000; echo 'done well'; exit 0",
    );
    assert_eq!(finished.outcome, Outcome::Failed);
    assert_eq!(finished.error.as_deref(), Some("the agent did not read what it was answered"));
}

fn an_agent_that_closes_its_input_may_go_on() {
    let (finished, ..) = talk_to("exec <&-; yes 'ask who' | head -n 20000; echo 'done well'; exit 0");
    assert_eq!((finished.outcome, finished.error), (Outcome::Ok, None));
}

fn an_agent_that_waits_for_ever_is_ended() {
    let (finished, ..) = talk_with("read -r task; read -r never", |plan| {
        plan.event_loop.iteration_timeout = Duration::from_millis(300);
    });
    assert_eq!(finished.outcome, Outcome::TimedOut);
}

fn a_program_reads_the_end_of_its_input_and_not_before() {
    let (tell, ends) = std::sync::mpsc::channel();
    let spec = Spec { stdin: Stdin::Pipe, ..sh("echo up; wc -c; exit 3") };
    let on_output = |_, bytes: &[u8], input: &mut ralph_runtime::process::Input| {
        if bytes.starts_with(b"up") {
            input.open(&vec![b'x'; 3_000_000]);
            input.close();
            input.write(b"too late");
        } else {
            assert_eq!(String::from_utf8_lossy(bytes).trim(), "3000000");
        }
    };
    SUPERVISOR.spawn_answered(spec, None, |_, _| {}, on_output, move |end| tell.send(end).unwrap());
    let end = ends.recv_timeout(PATIENCE).unwrap();
    assert_eq!((end.exit, end.drained), (Exit::Code(3), true));
}
