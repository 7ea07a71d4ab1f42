//! Starts the work that the engine asks for, and reports what comes of it. Nothing here is waited for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use ralph_core::effect::Effect;
use ralph_core::input::{Input, Report};
use ralph_core::plan::Plan;

use crate::attempt::{Attempt, Unreported};
use crate::driver::Envelope;
use crate::gate::Round;
use crate::job::Group;
use crate::process::{Handle, Supervisor};
use crate::store::RunDir;
use crate::timer::Timers;
use crate::token::Tokens;
use crate::wake::{Stamp, Wake};
use crate::workspace::{Snapshot, Trees, WorkspaceLock};
use crate::{lock, memory};

pub(crate) struct Executor {
    shared: Arc<Shared>,
    timers: Timers,
    slot: Arc<Slot>,
    /// Looks for work while the run waits.
    wake: Option<Wake>,
}

/// What every attempt needs.
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) run: RunDir,
    pub(crate) supervisor: Supervisor,
    pub(crate) lock: WorkspaceLock,
    pub(crate) inbox: Sender<Envelope>,
    /// The workspace after the last iteration: the next one's before.
    pub(crate) snapshot: Mutex<Option<Snapshot>>,
    /// The files that may bring work, as the last agent left them.
    pub(crate) seen: Mutex<Option<Vec<Option<Stamp>>>>,
    pub(crate) gates: Arc<Group>,
    pub(crate) trees: Mutex<Trees>,
    pub(crate) tokens: Arc<Tokens>,
}

impl Shared {
    /// Agents and commands find this very `ralph` first, wherever it was started from.
    pub(crate) fn path_variable(&self) -> OsString {
        let mut path = self.run.bin().into_os_string();
        if let Some(inherited) = std::env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        path
    }

    /// What all of them find in their environment.
    pub(crate) fn environment(&self, path: OsString) -> Vec<(OsString, Option<OsString>)> {
        let own: [(&str, OsString); 4] = [
            ("PATH", path),
            ("RALPH_RUN_ID", self.run.id.0.clone().into()),
            ("RALPH_WORKSPACE", self.plan.workspace.clone().into_os_string()),
            ("RALPH_BIN", self.run.ralph().into_os_string()),
        ];
        own.into_iter().map(|(key, value)| (OsString::from(key), Some(value))).collect()
    }
}

/// The attempt that is running, if any.
#[derive(Default)]
pub(crate) struct Slot {
    state: Mutex<SlotState>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct SlotState {
    pub(crate) busy: bool,
    /// The agent, or the commands before it.
    handles: Vec<Handle>,
    /// It was told to end, with this grace. What it starts after that is ended as well.
    kill: Option<Duration>,
}

impl Slot {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SlotState> {
        lock(&self.state)
    }

    /// One that may start processes from now on.
    pub(crate) fn working() -> Self {
        let slot = Self::default();
        slot.lock().busy = true;
        slot
    }

    pub(crate) fn kill(&self, grace: Duration) {
        let mut state = self.lock();
        // The attempt that was meant has just ended: the next one is not to pay for it.
        if !state.busy {
            return;
        }
        state.handles.iter().for_each(|handle| end(handle, grace));
        state.kill = Some(state.kill.map_or(grace, |earlier| earlier.min(grace)));
    }

    /// Takes charge of a process that was started. One that has ended meanwhile, and with it the attempt, is let go.
    pub(crate) fn hold(&self, handle: Handle) {
        let mut state = self.lock();
        if let Some(grace) = state.kill {
            end(&handle, grace);
        }
        if state.busy {
            state.handles.push(handle);
        }
    }

    /// The processes so far have ended.
    pub(crate) fn release(&self) {
        self.lock().handles.clear();
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.lock().kill.is_some()
    }

    pub(crate) fn free(&self) {
        *self.lock() = SlotState::default();
        self.changed.notify_all();
    }
}

fn end(handle: &Handle, grace: Duration) {
    match grace.is_zero() {
        true => handle.kill(),
        false => handle.terminate(grace),
    }
}

impl Executor {
    pub(crate) fn new(
        plan: Plan,
        run: RunDir,
        supervisor: Supervisor,
        lock: WorkspaceLock,
        inbox: Sender<Envelope>,
        tokens: Arc<Tokens>,
    ) -> std::io::Result<Self> {
        let fired = inbox.clone();
        let timers = Timers::start(move |timer| report(&fired, Report::TimerFired(timer)))?;
        let (snapshot, gates) = (Mutex::new(None), Arc::default());
        let trees = Mutex::new(Trees::new(&plan.workspace, scratchpads(&plan)));
        let seen = Mutex::new(None);
        let shared = Shared { plan, run, supervisor, lock, inbox, snapshot, seen, gates, trees, tokens };
        Ok(Self { shared: Arc::new(shared), timers, slot: Arc::default(), wake: None })
    }

    pub(crate) fn start(&mut self, effect: Effect) {
        match effect {
            Effect::StartTimer { timer, when } => self.timers.set(timer, when),
            Effect::KillAgent { grace } => self.slot.kill(grace),
            Effect::SaveMemory(draft) => memory::save_at_the_end(&self.shared.plan, &draft),
            Effect::KillGates { grace } => self.shared.gates.end(grace),
            Effect::RunGates(work) => {
                let round = Round::new(&self.shared, work);
                let _ = std::thread::Builder::new().name("gates".into()).spawn(move || round.run());
            }
            Effect::StartWake { epoch, since } => self.wake = Wake::start(&self.shared, epoch, since),
            Effect::StopWake => self.wake = None,
            Effect::SpawnAgent(spawn) => {
                self.slot.lock().busy = true;
                let (shared, slot) = (Arc::clone(&self.shared), Arc::clone(&self.slot));
                let attempt = Unreported::new(Attempt {
                    shared,
                    slot,
                    spawn,
                    before: OnceLock::new(),
                    token: OnceLock::new(),
                });
                // If there is no thread to be had the closure is dropped, and the attempt with it.
                let _ = std::thread::Builder::new().name("agent".into()).spawn(move || attempt.run());
            }
        }
    }

    /// Ends the agent and the gates at once and returns when they are gone.
    pub(crate) fn shut_down(&mut self) {
        self.shared.gates.shut_down();
        self.wake = None;
        self.slot.kill(Duration::ZERO);
        let state = self.slot.lock();
        drop(self.slot.changed.wait_while(state, |state| state.busy));
    }
}

/// Notes are no part of the work.
fn scratchpads(plan: &Plan) -> Vec<PathBuf> {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.scratchpad.clone());
    plan.scratchpad.clone().into_iter().chain(hats).collect()
}

pub(crate) fn report(inbox: &Sender<Envelope>, report: Report) {
    let _ = inbox.send(Input::Report(report).into());
}
