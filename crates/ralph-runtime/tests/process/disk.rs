//! A whole run on a disk that fills up again and again.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use ralph_core::event::{Event, RunStopped};
use ralph_core::plan::{AgentPlan, EventLoop, Plan, SettingsChange, StuckPlan, Task};
use ralph_core::record::Record;
use ralph_core::replay::Verifier;
use ralph_core::stop::StopKind;
use ralph_runtime::journal::{self, Storage};
use ralph_runtime::session::OpenRun;
use ralph_store::{Mark, Store};

crate::trials!(a_disk_that_fills_at_each_of_200_writes_loses_and_repeats_nothing);

const FAILURES: usize = 200;

/// Takes so many writes, then a part of the next one, then nothing until the reserve is given up.
struct FillsUp {
    inner: Box<dyn Storage>,
    writes_left: usize,
}

impl Storage for FillsUp {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.writes_left > 0 {
            self.writes_left -= 1;
            return self.inner.append(bytes);
        }
        // A full disk shows up first as a short write.
        self.inner.append(&bytes[..bytes.len() / 2])?;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.inner.truncate(len)
    }

    fn sync(&mut self, mark: Mark) -> io::Result<()> {
        self.inner.sync(mark)
    }

    fn release_reserve(&mut self) {
        // Room for a batch that did not fit, and for the closing records.
        self.writes_left = 2;
        self.inner.release_reserve();
    }
}

fn plan(workspace: &Path, log: &Path) -> Plan {
    let script = format!("echo $RALPH_ITERATION.$RALPH_ATTEMPT >> {}; echo worked", log.display());
    let agent = AgentPlan { args: vec!["-c".to_owned(), script], ..AgentPlan::command("sh") };
    let limits = EventLoop { max_iterations: Some(10_000), ..EventLoop::default() };
    // It says the same each time, and is not to be stopped for that.
    let stuck = StuckPlan::off();
    Plan {
        event_loop: limits,
        stuck,
        ..Plan::new("disk", workspace, Task::Text("fill the disk".to_owned()), agent)
    }
}

/// One session. `writes` of them succeed, then the disk is full; none: it never fills.
fn work(session: OpenRun, writes: Option<usize>, change: SettingsChange) -> RunStopped {
    let session = match writes {
        Some(writes_left) => session.through(|inner| Box::new(FillsUp { inner, writes_left })),
        None => session,
    };
    session.work("test", change, &mut |_| {}).expect("the reserve has room for the end")
}

fn a_disk_that_fills_at_each_of_200_writes_loses_and_repeats_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = dir.path().join("workspace");
    std::fs::create_dir(&workspace).expect("a workspace");
    let workspace = workspace.canonicalize().expect("a workspace");
    let log = dir.path().join("log");
    let store = Store::at(dir.path().join("state")).expect("a store");

    let session = OpenRun::create(&store, plan(&workspace, &log)).expect("a run");
    let run = session.run_dir().clone();
    // A different write fails each time: some in the middle of an iteration, some with its end in hand.
    let mut stopped = work(session, Some(1), SettingsChange::default());
    for failure in 1..FAILURES {
        assert_eq!((stopped.reason.as_str(), stopped.kind), ("journal_error", StopKind::Failed));
        assert!(stopped.message.starts_with("cannot write the journal: "), "{}", stopped.message);
        let session = OpenRun::open(&store, run.clone()).expect("it can be resumed");
        assert_eq!(session.cut, None, "nothing half written is left behind");
        stopped = work(session, Some(1 + failure % 6), SettingsChange::default());
    }
    let session = OpenRun::open(&store, run.clone()).expect("it can be resumed");
    let finished = session.observe().expect("an old run").iterations();
    let limits = EventLoop { max_iterations: Some(finished + 3), ..EventLoop::default() };
    let end = work(session, None, limits.into());
    assert_eq!((end.reason.as_str(), end.iterations), ("max_iterations", finished + 3));

    let (records, recorded) = (records(&run.path), executed(&log));
    let ends: Vec<u32> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::IterationFinished(finished) => Some(finished.iteration.0),
            _ => None,
        })
        .collect();
    assert_eq!(ends, (1..=finished + 3).collect::<Vec<_>>(), "each iteration is finished exactly once");
    let once: BTreeSet<&String> = recorded.iter().collect();
    assert_eq!(once.len(), recorded.len(), "no attempt is run twice");
    println!("{FAILURES} full disks, {} iterations, {} attempts", ends.len(), recorded.len());
    assert!(finished > 20, "the sessions must get somewhere: {finished}");
}

fn records(dir: &Path) -> Vec<Record> {
    let (mut records, mut verifier) = (Vec::new(), Verifier::default());
    journal::open(dir, &mut |record| {
        verifier.push(record).expect("every decision is derived again");
        records.push(record.clone());
    })
    .expect("a sound journal");
    records
}

fn executed(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).expect("the log").lines().map(str::to_owned).collect()
}
