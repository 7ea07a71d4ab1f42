//! Starts the work that the engine asks for, and reports what comes of it. Nothing here is waited for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::time::Duration;

use ralph_core::effect::Effect;
use ralph_core::event::{AgentExited, BinCleaned, Exit};
use ralph_core::ids::IterationNumber;
use ralph_core::input::{Input, Report};
use ralph_core::plan::{Plan, SandboxLevel};
use ralph_core::record::Record;
use ralph_evidence::Watch;
use ralph_store::RunDir;

use crate::attempt::prepare::memory;
use crate::attempt::{Attempt, MakeDialogue, Unreported};
use crate::checkpoint::Checkpoints;
use crate::driver::Envelope;
use crate::footprints::Footprints;
use crate::gate::Round;
use crate::group::Group;
use crate::ledger;
use crate::lock;
use crate::process::Supervisor;
use crate::sandbox::{Sandbox, keys};
use crate::secrets::Secrets;
use crate::timer::Timers;
use crate::token::Tokens;
use crate::trust::{Baseline, Pins, Protection, Touched, keep_clean};
use crate::wake::{KnownFiles, Wake};
use crate::watchdog;
use crate::workspace::{Patterns, Snapshot, Tree, Trees, WorkspaceLock};

pub(crate) struct Executor {
    shared: Arc<RunContext>,
    timers: Timers,
    /// The attempt that is running, if any.
    attempt: Arc<Group>,
    /// Looks for work while the run waits.
    wake: Option<Wake>,
    /// The newest attempt.
    spawned: Option<(IterationNumber, u32)>,
}

/// What an attempt gets beyond its grace: its files are looked at after its end.
const MERCY: Duration = Duration::from_secs(20);
/// So long a driver may take for one input, its disk included.
const LIMIT_PATIENCE: Duration = Duration::from_secs(120);

/// What a session has made ready for all attempts before the first one starts.
pub(crate) struct Prepared {
    pub(crate) sandbox: Sandbox,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) watch: Watch,
    pub(crate) dialogue: Option<MakeDialogue>,
    pub(crate) pins: Pins,
    pub(crate) protection: Protection,
    pub(crate) baseline: Baseline,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) checkpoints: Checkpoints,
}

/// What every attempt needs.
pub(crate) struct RunContext {
    pub(crate) plan: Plan,
    pub(crate) run: RunDir,
    pub(crate) supervisor: Supervisor,
    pub(crate) lock: WorkspaceLock,
    pub(crate) sandbox: Sandbox,
    pub(crate) inbox: Sender<Envelope>,
    /// The workspace after the last iteration: the next one's before.
    pub(crate) snapshot: Mutex<Option<Snapshot>>,
    /// The files that may bring work, as the last agent knows them.
    pub(crate) known_files: Mutex<KnownFiles>,
    pub(crate) gates: Arc<Group>,
    pub(crate) trees: Mutex<Trees>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) footprints: Mutex<Footprints>,
    pub(crate) touched: Mutex<Touched>,
    pub(crate) pins: Pins,
    pub(crate) protection: Protection,
    pub(crate) baseline: Baseline,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) checkpoints: Checkpoints,
    /// Looks for circles.
    pub(crate) watch: Mutex<Watch>,
    /// Talks to every agent, instead of the dialogue that its format has.
    pub(crate) dialogue: Option<MakeDialogue>,
}

impl RunContext {
    /// The state of the tree now, without ralph's own files.
    pub(crate) fn look_at_tree(&self) -> std::io::Result<Tree> {
        let own = lock(&self.footprints).paths();
        lock(&self.trees).look_past(own)
    }

    /// ralph's own files, if there are logs of its output among these that were not known before.
    pub(crate) fn own_logs_among<P: AsRef<Path>>(&self, paths: &[P]) -> Option<Vec<PathBuf>> {
        let mut footprints = lock(&self.footprints);
        footprints.learn(paths.iter().map(AsRef::as_ref)).then(|| footprints.paths())
    }

    /// Sees to it that the folder which offers `ralph` holds nothing else, and tells what it held.
    pub(crate) fn clean_bin(&self) -> std::io::Result<()> {
        let removed = keep_clean(&self.run.bin(), &self.run.ralph(), &std::env::current_exe()?)?;
        if !removed.is_empty() {
            report(&self.inbox, Report::BinCleaned(BinCleaned { removed }));
        }
        Ok(())
    }

    /// Agents and commands find this very `ralph` first, wherever it was started from. Gates do without: nothing that an agent
    /// can write to may stand before their programs.
    pub(crate) fn path_variable(&self, level: SandboxLevel) -> OsString {
        let mut path = self.bin(level).into_os_string();
        if let Some(inherited) = std::env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        path
    }

    /// The folder that offers `ralph`. That of the run is out of reach for who is confined.
    fn bin(&self, level: SandboxLevel) -> PathBuf {
        if level.is_on() { self.run.room().join("bin") } else { self.run.bin() }
    }

    /// What all of them find in their environment.
    pub(crate) fn environment(
        &self,
        path: OsString,
        level: SandboxLevel,
    ) -> Vec<(OsString, Option<OsString>)> {
        let own: [(&str, OsString); 5] = [
            ("PATH", path),
            ("RALPH_RUN_ID", self.run.id.0.clone().into()),
            ("RALPH_INSIDE", inside(std::env::var_os("RALPH_INSIDE"), &self.run).into()),
            ("RALPH_WORKSPACE", self.plan.workspace.clone().into_os_string()),
            ("RALPH_BIN", self.bin(level).join("ralph").into_os_string()),
        ];
        let own = own.into_iter().map(|(key, value)| (OsString::from(key), Some(value)));
        let gone = keys::taken_away(&self.plan).into_iter().map(|name| (name.into(), None));
        own.chain(gone).chain(self.sandbox.environment(level)).collect()
    }
}

impl Executor {
    pub(crate) fn new(
        plan: Plan,
        run: RunDir,
        supervisor: Supervisor,
        lock: WorkspaceLock,
        inbox: Sender<Envelope>,
        Prepared { sandbox, tokens, watch, dialogue, pins, protection, baseline, secrets, checkpoints }: Prepared,
        at_work: Weak<()>,
    ) -> std::io::Result<Self> {
        let fired = inbox.clone();
        let timers = Timers::start(move |timer| {
            // A driver that does not take it is stuck on its disk, and no limit counts any more.
            let (reply, heard) = mpsc::channel();
            let input = Input::Report(Report::TimerFired(timer));
            let _ = fired.send(Envelope { input, reply: Some(reply) });
            watchdog::expect_answer(&at_work, heard, LIMIT_PATIENCE, watchdog::give_up);
        })?;
        let (snapshot, gates) = (Mutex::new(None), Arc::default());
        let ignore = Patterns::new(&plan.proof_ignore).map_err(std::io::Error::other)?;
        let trees = Mutex::new(Trees::new(&plan.workspace, scratchpads(&plan)).ignoring(ignore));
        let (footprints, touched) = (Mutex::new(Footprints::of(&plan)), Mutex::new(Touched::of(&run.path)));
        let (known_files, watch) = (Mutex::default(), Mutex::new(watch));
        let shared = RunContext {
            plan,
            run,
            supervisor,
            lock,
            sandbox,
            inbox,
            snapshot,
            known_files,
            gates,
            trees,
            tokens,
            footprints,
            touched,
            pins,
            protection,
            baseline,
            secrets,
            checkpoints,
            watch,
            dialogue,
        };
        Ok(Self { shared: Arc::new(shared), timers, attempt: Arc::default(), wake: None, spawned: None })
    }

    pub(crate) fn start(&mut self, effect: Effect) {
        match effect {
            Effect::StartTimer { timer, when } => self.timers.set(timer, when),
            Effect::KillAgent { grace } => {
                self.attempt.end(grace);
                self.expect_exit(grace);
            }
            Effect::SaveMemory(draft) => {
                memory::save_at_the_end(&self.shared.plan, &draft, &self.shared.secrets.redactor());
            }
            Effect::KillGates { grace } => self.shared.gates.end(grace),
            Effect::RunGates(work) => {
                let round = Round::new(&self.shared, work);
                let _ = std::thread::Builder::new().name("gates".into()).spawn(move || round.run());
            }
            Effect::StartWake { epoch, since } => self.wake = Wake::start(&self.shared, epoch, since),
            Effect::StopWake => self.wake = None,
            Effect::ReadLedger => self.read_ledger(),
            Effect::SpawnAgent(spawn) => {
                if self.attempt.is_busy() {
                    // The one before was given up, and its thread has not come back.
                    self.attempt = Arc::default();
                }
                self.spawned = Some((spawn.iteration, spawn.attempt));
                let attempt = Attempt::new(&self.shared, &self.attempt, spawn);
                let attempt = Unreported::new(attempt);
                // If there is no thread to be had the closure is dropped, and the attempt with it.
                let _ = std::thread::Builder::new().name("agent".into()).spawn(move || attempt.run());
            }
        }
    }

    /// The attempt is told to end. Where its thread waits for what never comes, somebody else says that it is over; what the thread
    /// says later is about an attempt that is over, and changes nothing.
    fn expect_exit(&self, grace: Duration) {
        let Some((iteration, attempt)) = self.spawned else { return };
        let (group, inbox) = (Arc::clone(&self.attempt), self.shared.inbox.clone());
        let _ = std::thread::Builder::new().name("mercy".into()).spawn(move || {
            if !group.wait(grace.saturating_add(MERCY)) {
                let message = "it was told to end and does not: it waits for a disk or a mount".to_owned();
                let exited = AgentExited::new(iteration, attempt, Exit::Lost { message });
                report(&inbox, Report::AgentExited(Box::new(exited)));
            }
        });
    }

    /// Other runs may have long journals: nobody waits for them.
    fn read_ledger(&self) {
        let shared = Arc::clone(&self.shared);
        let read = move || match ledger::read(&shared.run) {
            Some(read) => report(&shared.inbox, Report::LedgerRead(read)),
            // The engine takes what is no sum of money for what it is, and stops.
            None => report(&shared.inbox, Report::LedgerRead(ledger::unknown())),
        };
        let spare = read.clone();
        if std::thread::Builder::new().name("ledger".into()).spawn(read).is_err() {
            spare();
        }
    }

    /// Follows the run: some of what is started depends on what happened before.
    pub(crate) fn follow(&self, records: &[Record]) {
        let mut watch = lock(&self.shared.watch);
        records.iter().for_each(|record| watch.apply(&record.event));
    }

    /// Ends everything that was started at once and returns when they are gone.
    pub(crate) fn shut_down(&mut self) {
        self.shared.gates.shut_down();
        self.wake.take().into_iter().for_each(Wake::shut_down);
        self.attempt.shut_down();
    }
}

/// The runs that a process is inside of, from the outermost: this ralph may itself have been started by the agent of a run.
fn inside(outer: Option<OsString>, run: &RunDir) -> String {
    let outer = outer.unwrap_or_default().to_string_lossy().into_owned();
    let runs = outer.split(':').filter(|id| !id.is_empty()).chain([run.id.0.as_str()]);
    runs.collect::<Vec<_>>().join(":")
}

/// Notes are no part of the work.
fn scratchpads(plan: &Plan) -> Vec<PathBuf> {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.scratchpad.clone());
    plan.core.scratchpad.iter().map(PathBuf::from).chain(hats).collect()
}

pub(crate) fn report(inbox: &Sender<Envelope>, report: Report) {
    let _ = inbox.send(Input::Report(report).into());
}
