//! Runs gates: the checks that decide whether "complete" is true. All of a round see one state of the tree, or it is
//! said which paths moved.

use std::collections::{HashSet, VecDeque};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::effect::RunGates;
use ralph_core::event::{GateFinished, GateStarted, GatesFinished, TestCount, TreeSeen};
use ralph_core::input::Report;
use ralph_core::moved::MovedFile;
use ralph_core::plan::Gate;
use ralph_evidence::tamper::{Counted, fewer, no_test_ran, tests_counted};
use ralph_store::plain::{self, Links};

use crate::executor::{RunContext, report};
use crate::group::Busy;
use crate::job::{Finds, Job, JobEnd};
use crate::lock;
use crate::output_tail::OutputTail;
use crate::process::{Exit, Finished, Stream};
use crate::redacted::Redacted;
use crate::scratch::{Scratch, ScratchError};
use crate::spool::Spool;
use crate::standing;
use crate::workspace::{Tree, path_number};

/// Names that are told of what moved.
const MAX_PATHS: usize = 20;
/// Of a gate's log, for the counts of its tests.
const MAX_LOG: u64 = 4 << 20;

/// One round of gates. Its end is reported whatever becomes of its thread: a gate without a result has not passed.
pub(crate) struct Round {
    shared: Arc<RunContext>,
    work: RunGates,
    started: Instant,
    tree: Option<TreeSeen>,
    moved: Vec<String>,
    left_out: Vec<String>,
    unseen: Option<String>,
    /// The gates' group is at work as long as this is.
    busy: Option<Busy>,
}

impl Drop for Round {
    fn drop(&mut self) {
        drop(self.busy.take());
        let RunGates { iteration, round, .. } = self.work;
        let (duration, tree) = (standing::since(self.started), self.tree.take());
        let (moved, left_out) = (std::mem::take(&mut self.moved), std::mem::take(&mut self.left_out));
        let unseen = self.unseen.take();
        let finished = GatesFinished { iteration, round, duration, tree, moved, left_out, unseen };
        report(&self.shared.inbox, Report::GatesFinished(finished));
    }
}

impl Round {
    pub(crate) fn new(shared: &Arc<RunContext>, work: RunGates) -> Self {
        let (shared, busy) = (Arc::clone(shared), Some(shared.gates.begin()));
        // The engine knows a gate as it is recorded, which is without secrets.
        let own =
            |gate: &Gate| shared.plan.gates.iter().find(|own| own.name == gate.name).unwrap_or(gate).clone();
        let gates = work.gates.iter().map(own).collect();
        let work = RunGates { gates, ..work };
        // Nothing was seen until the end: a round that is lost on its way proves nothing.
        let unseen = Some("the gates did not come to their end".to_owned());
        let (moved, left_out) = (Vec::new(), Vec::new());
        Self { shared, work, started: standing::now(), tree: None, moved, left_out, unseen, busy }
    }

    pub(crate) fn run(mut self) {
        self.shared.checkpoints.wait();
        let before = self.shared.look_at_tree();
        let jobs = jobs(self.shared.plan.gate_jobs);
        let queue: Mutex<VecDeque<&Gate>> = Mutex::new(self.work.gates.iter().collect());
        thread::scope(|scope| {
            let worker = || {
                while let Some(gate) = { lock(&queue).pop_front() } {
                    self.gate(gate);
                }
            };
            for _ in 1..jobs.min(self.work.gates.len()) {
                // With no thread to be had the others do its share.
                let _ = thread::Builder::new().name("gate".into()).spawn_scoped(scope, worker);
            }
            worker();
        });
        // What gates wrote is not the next iteration's work.
        *lock(&self.shared.snapshot) = None;
        let after = self.shared.look_at_tree();
        match (before, after) {
            (Ok(before), Ok(after)) => {
                self.compare(&before, &after);
                self.unseen = None;
            }
            (Err(error), _) | (_, Err(error)) => self.unseen = Some(error.to_string()),
        }
    }

    /// What the gates saw: the tree without the files that moved and are no part of it.
    fn compare(&mut self, before: &Tree, after: &Tree) {
        let paths: Vec<&Path> = before.moved(after).iter().map(|one| one.path).collect();
        let own = self.shared.own_logs_among(&paths).unwrap_or_default();
        let mut touched = lock(&self.shared.touched);
        if self.work.round == 1 {
            touched.new_claim();
        }
        // A log of ralph's own is left out without a word.
        let mut left_out: HashSet<&Path> = own.iter().map(PathBuf::as_path).collect();
        let mut moved = before.moved(after);
        moved.retain(|one| !left_out.contains(one.path));
        for one in &moved {
            let number = path_number(one.path);
            let file = MovedFile {
                is_tracked: one.is_tracked,
                is_touched: touched.holds(number),
                moved_before: touched.moved_before(number),
                is_anyones: !self.shared.plan.event_loop.kill_leftovers,
            };
            let list = if file.binds() { &mut self.moved } else { &mut self.left_out };
            if list.len() < MAX_PATHS {
                list.push(one.path.to_string_lossy().into_owned());
            }
            if !file.binds() {
                left_out.insert(one.path);
            }
        }
        touched.moved_now(moved.iter().map(|one| path_number(one.path)));
        let hash = if left_out.is_empty() { after.hash.clone() } else { after.hash_without(&left_out) };
        self.tree = Some(TreeSeen { hash, commit: after.commit.clone() });
    }

    fn gate(&self, gate: &Gate) {
        let RunGates { iteration, round, .. } = self.work;
        let (name, inbox) = (gate.name.clone(), &self.shared.inbox);
        report(inbox, Report::GateStarted(GateStarted { iteration, round, name: name.clone() }));
        let (ended, tail) = self.execute(gate);
        let mut result = GateFinished {
            iteration,
            round,
            name,
            passed: false,
            exit_code: None,
            timed_out: false,
            error: None,
            duration: Duration::ZERO,
            tail,
            tests: None,
            tampering: None,
        };
        match ended {
            JobEnd::NotStarted { message } => result.error = Some(format!("cannot be started: {message}")),
            JobEnd::Cancelled => result.error = Some("ended by ralph".to_owned()),
            JobEnd::Ran { finished, timed_out } => judge(&mut result, &finished, timed_out, gate.timeout),
        }
        self.count_tests(&mut result);
        report(inbox, Report::GateFinished(result));
    }

    /// What a known runner says that it ran, held against the most that this gate has counted. A gate that failed may have
    /// stopped early.
    fn count_tests(&self, result: &mut GateFinished) {
        let log = self.shared.run.gate_log(result.iteration, result.round, &result.name);
        let Some(counted) = read_end(&log, MAX_LOG).and_then(|output| tests_counted(&output)) else { return };
        let Counted { ran, passed, failed, skipped } = counted;
        result.tests = Some(TestCount { ran, passed, failed, skipped });
        let words =
            self.work.gates.iter().find(|gate| gate.name == result.name).map(|gate| gate.run.as_slice());
        if let Some(why) = no_test_ran(counted, words.unwrap_or_default()).filter(|_| result.passed) {
            (result.passed, result.error) = (false, Some(why));
            return;
        }
        let before = self.work.counted.get(&result.name).filter(|_| result.passed);
        if let Some(TestCount { ran, passed, failed, skipped }) = before.copied() {
            let before = Counted { ran, passed, failed, skipped };
            result.tampering = fewer(before, counted, self.work.fewer_expected);
        }
    }

    /// A copy of the workspace with the held-out files laid in.
    fn copy_for(&self, gate: &Gate) -> Result<Scratch, ScratchError> {
        let RunContext { plan, run, .. } = &*self.shared;
        let state = run.path.parent().and_then(Path::parent).unwrap_or(&run.path);
        let mut copy = Scratch::create(&state.join("scratch"), &plan.workspace)?;
        if let Some(files) = &gate.files {
            copy.lay_in(Path::new(files))?;
        }
        Ok(copy)
    }

    fn execute(&self, gate: &Gate) -> (JobEnd, String) {
        let RunContext { plan, run, gates, .. } = &*self.shared;
        let RunGates { iteration, round, .. } = self.work;
        let spool = Spool::create(&run.gate_log(iteration, round, &gate.name)).ok();
        let clean = Redacted::of(&self.shared.secrets);
        let heard = Arc::new(Mutex::new(Heard { spool, end: OutputTail::default(), clean }));
        let sink = Arc::clone(&heard);
        let mut env = vec![("RALPH_ITERATION".into(), Some(iteration.to_string().into()))];
        let copy = match gate.hidden.then(|| self.copy_for(gate)).transpose() {
            Ok(copy) => copy,
            Err(error) => return (JobEnd::NotStarted { message: error.to_string() }, String::new()),
        };
        let mut ground = self.shared.ground(Finds::Pinned);
        if let Some(copy) = &copy {
            // Paths that lead into the workspace lead into the copy.
            ground.path = copy.rewrite(&ground.path);
            env.extend(copy.environment().into_iter().map(|(name, value)| (name, Some(value))));
            env.push(("RALPH_WORKSPACE".into(), Some(copy.tree().into())));
            env.push(("PATH".into(), Some(ground.path.clone())));
        }
        let cwd = copy.as_ref().map_or(plan.workspace.as_path(), Scratch::tree);
        let job = Job { words: &gate.run, cwd, env, timeout: gate.timeout };
        let ended = job.run(&ground, gates, move |stream, bytes| lock(&sink).take(stream, bytes));
        let tail = lock(&heard).finish();
        (ended, tail)
    }
}

/// What a gate prints, without secrets: to its log, and the end of it to be told.
struct Heard {
    spool: Option<Spool>,
    end: OutputTail,
    clean: Redacted,
}

impl Heard {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let bytes = self.clean.push(stream, bytes);
        if let Some(spool) = &mut self.spool {
            spool.write(&bytes);
        }
        self.end.push(&bytes);
    }

    fn finish(&mut self) -> String {
        for rest in self.clean.finish() {
            if let Some(spool) = &mut self.spool {
                spool.write(&rest);
            }
            self.end.push(&rest);
        }
        self.end.text()
    }
}

/// How many gates run at the same time.
fn jobs(set: Option<u32>) -> usize {
    match set {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX).max(1),
        None => thread::available_parallelism().map_or(1, usize::from),
    }
}

/// The end of a log, as text.
fn read_end(path: &Path, most: u64) -> Option<String> {
    let mut file = plain::open(path, Links::Refuse).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most))).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn judge(result: &mut GateFinished, finished: &Finished, timed_out: bool, timeout: Duration) {
    (result.duration, result.timed_out) = (finished.duration, timed_out);
    match &finished.exit {
        _ if timed_out => {
            result.error = Some(format!("out of time after {}", ralph_core::duration::format(timeout)));
        }
        _ if finished.breach.is_some() => {
            result.error = finished.breach.map(|breach| breach.message().to_owned());
        }
        Exit::Code(code) => (result.exit_code, result.passed) = (Some(*code), *code == 0),
        Exit::Signal(signal) => result.error = Some(format!("killed by signal {signal}")),
        Exit::Missing { message }
        | Exit::NotStarted { message }
        | Exit::NoPrompt { message }
        | Exit::Lost { message } => {
            result.error = Some(message.clone());
        }
    }
}
