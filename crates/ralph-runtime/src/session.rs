//! A session: one process of ralph working on one run, from taking the lock to giving it back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use ralph_core::effect::Step;
use ralph_core::engine::Engine;
use ralph_core::event::{
    CheckpointReason, Containment, Event, FORMAT, FilesProtected, JournalCut, ProgramsPinned, ProtectedFile,
    RunContinued, RunResumed, RunStarted, RunStopped,
};
use ralph_core::ids::IterationNumber;
use ralph_core::input::{Command, Input, Report};
use ralph_core::observe::{Folder, Observation};
use ralph_core::plan::{Contain, Plan, SettingsChange, TamperingPolicy};
use ralph_core::record::Record;
use ralph_core::time::Timestamp;
use ralph_evidence::Watch;
use ralph_store::{Position, RunDir, Store, StoreError};

use crate::attempt::MakeDialogue;
use crate::awake::{self, Awake};
use crate::checkpoint::{Checkpoints, Moment};
use crate::control::{Server, Service};
use crate::driver::{Driver, Envelope};
use crate::executor::{Executor, Prepared};
use crate::footprints::Footprints;
use crate::journal::{self, Cut, FileStorage, Journal, JournalError, OpenError, Storage};
use crate::process::{self, KeeperNews, Supervisor};
use crate::sandbox::{Sandbox, Unenforceable, keys};
use crate::secrets::Secrets;
use crate::signals::Heard;
use crate::sketches::Sketches;
use crate::survivors::Survivors;
use crate::token::Tokens;
use crate::trust::{Baseline, Pins, Protection};
use crate::workspace::{Holder, LockError, WorkspaceLock};
use crate::{clock, signals};

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("{}", busy(.workspace, .holder))]
    Busy { workspace: PathBuf, holder: Option<Holder> },
    #[error("cannot open the workspace {}: {error}", path.display())]
    Workspace { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    #[error("the run cannot be written down, so it is not started: {0}")]
    NotWritable(serde_json::Error),
    #[error("cannot set up the run: {0}")]
    Io(#[from] io::Error),
}

fn busy(workspace: &Path, holder: &Option<Holder>) -> String {
    let here = workspace.display();
    let Some(Holder { run, workspace: at }) = holder else {
        return format!("{here} is held by processes of another run, or by another user's");
    };
    let which = match at {
        at if at == workspace => String::new(),
        at if workspace.starts_with(at) => format!(", which {here} is inside of"),
        _ => format!(", which is inside of {here}"),
    };
    format!(
        "run {run} is working in {}{which}\n\
         `ralph status {run}` shows it, `ralph stop {run}` ends it, `-C DIR` works elsewhere",
        at.display()
    )
}

/// A run that is open: nobody else works on it or in its workspace.
pub struct OpenRun {
    run: RunDir,
    lock: WorkspaceLock,
    journal: Journal,
    start: Start,
    secrets: Arc<Secrets>,
    inbox: Sender<Envelope>,
    outbox: Receiver<Envelope>,
    dialogue: Option<MakeDialogue>,
    /// The keepers of an earlier session, for whoever of them did not end with ralph.
    survivors: Survivors,
    pub cut: Option<Cut>,
}

enum Start {
    New(Box<Plan>),
    Old(Box<Engine>, Box<Memory>),
}

impl Start {
    fn observe(&self) -> Option<Observation<'_>> {
        match self {
            Start::Old(engine, _) => Some(engine.observe()),
            Start::New(_) => None,
        }
    }

    /// Nothing has happened: of a run that never began nothing is left.
    fn forget(&self, run: &RunDir) {
        if matches!(self, Start::New(_)) {
            let _ = std::fs::remove_dir_all(&run.path);
        }
    }

    fn plan(&self) -> &Plan {
        match self {
            Start::Old(engine, _) => engine.observe().plan(),
            Start::New(plan) => plan,
        }
    }
}

/// What the detectors of stuck runs remember, and the sketches that it comes from.
struct Memory {
    watch: Watch,
    sketches: Sketches,
}

impl OpenRun {
    /// Takes the workspace and makes a new run in it.
    pub fn create(store: &Store, plan: Plan) -> Result<Self, SessionError> {
        signals::survive_file_limit()?;
        // A run that cannot be written down is none: it is refused before there is anything of it.
        plan.to_value().map_err(SessionError::NotWritable)?;
        let secrets = Arc::new(Secrets::of(&plan).map_err(|why| SessionError::Io(io::Error::other(why)))?);
        let lock = lock_workspace(store, &plan.workspace)?;
        let survivors = Survivors::in_workspace(store, &plan.workspace);
        let run = store.create_run(clock::now())?;
        let plan = secrets.hide(&plan, &run.path)?;
        let storage = FileStorage::create(&run.path)?;
        let journal = Journal::new(Box::new(storage), Position::default());
        let (inbox, outbox) = mpsc::channel();
        Ok(Self {
            run,
            lock,
            journal,
            start: Start::New(Box::new(plan)),
            secrets,
            inbox,
            outbox,
            dialogue: None,
            survivors,
            cut: None,
        })
    }

    /// Opens an old run to go on with it. `state` is where it stands.
    pub fn open(store: &Store, run: RunDir) -> Result<Self, SessionError> {
        signals::survive_file_limit()?;
        let workspace = run.summary().map(|summary| summary.workspace);
        let workspace = workspace.ok_or_else(|| match run.trouble() {
            Some(why) => OpenError::Unreadable { path: run.journal(), why },
            None => OpenError::Empty { path: run.journal() },
        })?;
        let lock = lock_workspace(store, &workspace)?;
        let (mut folder, mut watch) = (Folder::default(), None::<Watch>);
        let mut sketches = Sketches::of(&run.path);
        let mut survivors = Survivors::of(&run);
        let (journal, cut) = journal::open(&run.path, &mut |record| {
            folder.push(record);
            survivors.apply(&record.event);
            match (&mut watch, &record.event) {
                (None, Event::RunStarted(started)) => watch = Some(Watch::new(&started.plan.stuck)),
                (Some(watch), event) => watch.replay(event, |exited| sketches.of_attempt(exited)),
                (None, _) => {}
            }
        })?;
        let engine = folder.into_engine().ok_or_else(|| OpenError::Empty { path: run.journal() })?;
        let watch = watch.unwrap_or_else(|| Watch::new(&engine.observe().plan().stuck));
        let memory = Memory { watch, sketches };
        let plan = Secrets::reveal(engine.observe().plan(), &run.path)?;
        let secrets = Arc::new(Secrets::of(&plan).map_err(|why| SessionError::Io(io::Error::other(why)))?);
        let (inbox, outbox) = mpsc::channel();
        Ok(Self {
            run,
            lock,
            journal,
            start: Start::Old(Box::new(engine), Box::new(memory)),
            secrets,
            inbox,
            outbox,
            dialogue: None,
            survivors,
            cut,
        })
    }

    /// Puts something between the journal and its storage.
    pub fn through(self, wrap: impl FnOnce(Box<dyn Storage>) -> Box<dyn Storage>) -> Self {
        Self { journal: self.journal.through(wrap), ..self }
    }

    /// Talks to every agent by a dialogue that is in no list.
    pub fn talking(self, dialogue: MakeDialogue) -> Self {
        Self { dialogue: Some(dialogue), ..self }
    }

    /// The way for a person at this terminal to ask something of the run while it works.
    pub fn commander(&self) -> impl Fn(Command) + Send + 'static {
        let inbox = self.inbox.clone();
        move |command| drop(inbox.send(Input::Command(command).into()))
    }

    pub fn run_dir(&self) -> &RunDir {
        &self.run
    }

    /// Where an old run stands; nothing for a new one.
    pub fn observe(&self) -> Option<Observation<'_>> {
        self.start.observe()
    }

    /// Records one thing that a person asks of a run that is not working, such as guidance for its resume.
    pub fn record(mut self, command: Command) -> Result<Vec<Event>, SessionError> {
        self.note(Input::Command(command))
    }

    /// Records something that was seen of a run that is not working.
    pub fn note(&mut self, input: Input) -> Result<Vec<Event>, SessionError> {
        let Start::Old(engine, _) = &mut self.start else { return Ok(Vec::new()) };
        // A run that crashed was not at work until now: its clock stands where it was last seen.
        let run = engine.observe();
        let now = if run.stopped().is_some() { clock::now() } else { run.last_at() };
        let step = engine.handle(now, self.secrets.cleaned(input));
        let batch: Vec<_> = step.events.iter().map(|event| (now, event.clone())).collect();
        self.journal.append(&batch)?;
        Ok(step.events)
    }

    /// Works until the run stops. `change` is what a resumed run does differently. Every record is given to `publish` once it is on disk.
    pub fn work(
        self,
        version: &str,
        change: SettingsChange,
        publish: &mut dyn FnMut(&Record),
    ) -> Result<RunStopped, SessionError> {
        let OpenRun { run, lock, journal, start, secrets, inbox, outbox, cut, dialogue, survivors } = self;
        if let Some(Cut { bytes }) = cut {
            let _ = inbox.send(Input::Report(Report::JournalCut(JournalCut { bytes })).into());
        }
        // Dropped with the session: whoever expects its end looks at this.
        let at_work = Arc::new(());
        let supervisor = supervisor(start.plan(), &inbox)?;
        let sender = inbox.clone();
        let _signals = signals::watch(Arc::downgrade(&at_work), &supervisor, move |heard| {
            let input = match heard {
                Heard::Asked(command) => Input::Command(command),
                Heard::Continued(stood) => Input::Report(Report::RunContinued(RunContinued { stood })),
            };
            let _ = sender.send(input.into());
        })?;
        let tokens = Arc::new(Tokens::default());
        let at_work_weak = Arc::downgrade(&at_work);
        let service = Service::new(run.clone(), version, inbox.clone(), Arc::clone(&tokens), at_work_weak);
        let mut server = Server::start(service)?;
        supervisor.prewarm();

        let checkpoints = checkpoints(&start, &run, &inbox);
        let baseline = baseline(&start, &run)?;
        let (pins, protection) = trust(&start, &change, &run, &inbox)?;
        survivors.sweep(&inbox)?;
        let mut containment = supervisor.containment()?;
        let sandbox = Sandbox::open(&changed_plan(&start, &change), &run, &mut containment);
        let sandbox = sandbox.inspect_err(|_| start.forget(&run))?;
        if containment.sandbox.is_some() {
            sandbox.make_room()?;
            server.open_for_agents()?;
        }
        let _room = Room(run.room());
        let _awake = stay_awake(&changed_plan(&start, &change), &supervisor, &run, &mut containment);
        let now = clock::now();
        let (engine, first, watch) = begin(&run, start, (version, containment), change, now);
        let plan = Secrets::reveal(engine.observe().plan(), &run.path)?;
        let driver_secrets = Arc::clone(&secrets);
        let prepared =
            Prepared { sandbox, tokens, watch, dialogue, pins, protection, baseline, secrets, checkpoints };
        let executor = Executor::new(plan, run, supervisor, lock, inbox, prepared, Arc::downgrade(&at_work))?;
        let engine = Driver { engine, journal, executor, inbox: outbox, secrets: driver_secrets, publish }
            .run(now, first)?;
        match engine.observe().stopped().cloned() {
            Some(stopped) => Ok(stopped),
            None => Err(io::Error::other("the run ended without a reason").into()),
        }
    }
}

fn begin(
    run: &RunDir,
    start: Start,
    (version, containment): (&str, Containment),
    change: SettingsChange,
    now: Timestamp,
) -> (Engine, Step, Watch) {
    let (version, pid) = (version.to_owned(), std::process::id());
    match start {
        Start::New(plan) => {
            let watch = Watch::new(&plan.stuck);
            let containment = Some(containment);
            let started =
                RunStarted { run: run.id.clone(), format: FORMAT, version, pid, plan: *plan, containment };
            let (engine, step) = Engine::start(now, started);
            (engine, step, watch)
        }
        Start::Old(mut engine, memory) => {
            let Memory { watch, sketches } = *memory;
            // Where that fails a sketch may be read again, after the next resume, for an attempt that is not its own.
            let _ = sketches.drop_rest();
            let containment = Some(containment);
            let resumed = RunResumed { containment, ..RunResumed::new(version, pid, change) };
            let command = Command::ResumeRun(Box::new(resumed));
            let step = engine.handle(now, Input::Command(command));
            (*engine, step, watch)
        }
    }
}

/// Takes the workspace, so that no run works in it meanwhile.
pub fn lock_workspace(store: &Store, workspace: &Path) -> Result<WorkspaceLock, SessionError> {
    let holder = || {
        let (run, workspace) = store.live_run_around(workspace)?;
        Some(Holder { run: run.id.0, workspace })
    };
    let around: Vec<&Path> = store.folders_around(workspace).collect();
    WorkspaceLock::acquire(workspace, &store.locks_dir(), &around, &holder).map_err(|error| match error {
        LockError::Io(error) => SessionError::Workspace { path: workspace.to_owned(), error },
        LockError::Own(error) => StoreError::Io { path: store.locks_dir(), error }.into(),
        LockError::Held { by } => SessionError::Busy { workspace: workspace.to_owned(), holder: by },
    })
}

/// What the confined programs of the run had for themselves goes with the session.
struct Room(PathBuf);

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where that cannot be had the run goes on, and says so.
fn stay_awake(
    plan: &Plan,
    supervisor: &Supervisor,
    run: &RunDir,
    containment: &mut Containment,
) -> Option<Awake> {
    if !plan.keep_awake {
        return None;
    }
    match awake::keep(supervisor, &run.id) {
        Ok((program, awake)) => {
            containment.kept_awake_by = Some(program);
            Some(awake)
        }
        Err(why) => {
            containment.missing.push(why);
            None
        }
    }
}

fn changed_plan(start: &Start, change: &SettingsChange) -> Plan {
    let mut plan = start.plan().clone();
    change.apply(&mut plan);
    plan
}

/// What starts everything that the run starts.
fn supervisor(plan: &Plan, inbox: &Sender<Envelope>) -> io::Result<Supervisor> {
    // What may be left behind cannot be in a namespace, which ends as a whole.
    let contain = if plan.event_loop.kill_leftovers { plan.contain } else { Contain::Keeper };
    let inbox = inbox.clone();
    let tell = move |news| {
        let report = match news {
            KeeperNews::Started(keeper) => Report::KeeperStarted(keeper),
            KeeperNews::Stopped(keeper) => Report::KeeperStopped(keeper),
        };
        let _ = inbox.send(Input::Report(report).into());
    };
    let supervisor = Supervisor::new(process::keeper_exe()?, 1, contain).telling(tell);
    // Nothing that an agent could look into has the keys that are kept from it.
    Ok(supervisor.without(keys::taken_away(plan)))
}

/// Begins to save the tree as it is now.
fn checkpoints(start: &Start, run: &RunDir, inbox: &Sender<Envelope>) -> Checkpoints {
    let plan = start.plan();
    if !plan.checkpoints.is_on() {
        return Checkpoints::default();
    }
    let seen = start.observe();
    let moment = match seen.map(Observation::last_iteration) {
        None => Moment { why: CheckpointReason::Start, iteration: IterationNumber(0) },
        Some(iteration) => Moment { why: CheckpointReason::Resume, iteration },
    };
    let parent = seen.and_then(Observation::last_checkpoint).map(str::to_owned);
    let checkpoints = Checkpoints::of(&plan.workspace, &run.id.0, parent);
    checkpoints.begin(moment, Footprints::of(plan).paths(), inbox);
    checkpoints
}

/// The tests as they were when the run began.
fn baseline(start: &Start, run: &RunDir) -> io::Result<Baseline> {
    let plan = start.plan();
    match plan.stop.tampering {
        TamperingPolicy::Off => Ok(Baseline::none(&plan.workspace)),
        _ => Baseline::of(&plan.workspace, &run.path, matches!(start, Start::New(_))),
    }
}

/// Looks up the programs and fingerprints the files that must not change, before any agent works.
fn trust(
    start: &Start,
    change: &SettingsChange,
    run: &RunDir,
    inbox: &Sender<Envelope>,
) -> Result<(Pins, Protection), SessionError> {
    let plan = changed_plan(start, change);
    let seen = start.observe();
    let known_programs = seen.map(Observation::pinned_programs).unwrap_or_default();
    let known_files = seen.map(Observation::protected_files).unwrap_or_default();
    let tell = |report: Report| drop(inbox.send(Input::Report(report).into()));
    let pins = Pins::of(&plan, known_programs);
    let programs = pins.programs();
    if programs != known_programs {
        tell(Report::ProgramsPinned(ProgramsPinned { programs }));
    }
    // Between two sessions a person may have changed a file. What an attempt changed that was cut off is the attempt's.
    let is_trusted = |file: &ProtectedFile| {
        seen.is_none_or(|seen| seen.is_between_attempts() && !seen.is_changed_by_agent(file))
    };
    let protection = Protection::start(&plan, &run.path, &pins, known_files, &is_trusted);
    let protection = protection.map_err(|why| SessionError::Io(io::Error::other(why)))?;
    if protection.files() != known_files {
        let files = protection.files().to_vec();
        tell(Report::FilesProtected(FilesProtected { files }));
    }
    Ok((pins, protection))
}
