//! Runs gates without a run: for `ralph gates run` and `ralph gates audit`. Each runs below a keeper, as always; a signal to
//! ralph ends all of them.

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::engine::GRACE;
use ralph_core::event::{GateFinished, StopHow};
use ralph_core::ids::IterationNumber;
use ralph_core::input::Command;
use ralph_core::plan::{Contain, Gate};
use ralph_core::stop::Interrupt;

use crate::gate::judge;
use crate::group::{Busy, Group};
use crate::job::{Ground, Job, JobEnd};
use crate::output_tail::OutputTail;
use crate::process::{self, Supervisor};
use crate::signals::Heard;
use crate::{lock, signals};

pub struct GateRunner {
    supervisor: Supervisor,
    group: Arc<Group>,
    interrupted: Arc<Mutex<Option<Interrupt>>>,
    /// Held all the time: once the group was told to end, nothing more is started.
    _busy: Busy,
    _signals: signals::Watch,
}

/// Where a gate runs.
pub struct Place<'a> {
    pub folder: &'a Path,
    /// The lock on this place, which the gate's keeper shares.
    pub lock: BorrowedFd<'a>,
    /// What is different from ralph's own environment.
    pub env: Vec<(OsString, OsString)>,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateOutcome {
    pub passed: bool,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    /// Why there is no exit code.
    pub error: Option<String>,
    pub duration: Duration,
    /// The end of what it printed, without escapes.
    pub tail: String,
}

impl GateOutcome {
    /// Why it did not pass, in a few words.
    pub fn why(&self) -> String {
        match (&self.error, self.exit_code) {
            (Some(error), _) => error.clone(),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "no result".to_owned(),
        }
    }
}

impl GateRunner {
    pub fn start() -> io::Result<Self> {
        signals::survive_file_limit()?;
        let group: Arc<Group> = Arc::default();
        let busy = group.begin();
        let interrupted: Arc<Mutex<Option<Interrupt>>> = Arc::default();
        let (told, noted) = (Arc::clone(&group), Arc::clone(&interrupted));
        let supervisor = Supervisor::new(process::keeper_exe()?, 1, Contain::Auto);
        let signals = signals::watch(std::sync::Weak::new(), &supervisor, move |heard| {
            let Heard::Asked(Command::StopRun(request)) = heard else { return };
            lock(&noted).get_or_insert(request.by);
            told.end(if request.how == StopHow::Kill { Duration::ZERO } else { GRACE });
        })?;
        Ok(Self { supervisor, group, interrupted, _busy: busy, _signals: signals })
    }

    /// The signal that ended it, if one did.
    pub fn interrupted(&self) -> Option<Interrupt> {
        *lock(&self.interrupted)
    }

    /// Runs one gate to its end, for at most `timeout`.
    pub fn run(&self, gate: &Gate, place: &Place<'_>, timeout: Duration) -> GateOutcome {
        let mut env: Vec<(OsString, Option<OsString>)> =
            place.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        env.push(("RALPH_WORKSPACE".into(), Some(place.folder.into())));
        let path = place.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        let mut words = gate.run.clone();
        // Inside a run this name always means this program.
        if let (Some(first), Ok(own)) = (words.first_mut(), std::env::current_exe()) {
            env.push(("RALPH_BIN".into(), Some(own.clone().into_os_string())));
            if first == "ralph" {
                *first = own.to_string_lossy().into_owned();
            }
        }
        let ground = Ground {
            sandbox: None,
            supervisor: &self.supervisor,
            lock: place.lock,
            path,
            pins: None,
            env,
            kill_leftovers: true,
        };
        let heard = Arc::new(Mutex::new(OutputTail::default()));
        let sink = Arc::clone(&heard);
        let job = Job { words: &words, cwd: place.folder, env: Vec::new(), timeout };
        let ended = job.run(&ground, &self.group, move |_, bytes| lock(&sink).push(bytes));
        let tail = lock(&heard).text();
        outcome(gate, &ended, timeout, tail)
    }
}

fn outcome(gate: &Gate, ended: &JobEnd, timeout: Duration, tail: String) -> GateOutcome {
    let mut result = GateFinished {
        iteration: IterationNumber(0),
        round: 0,
        name: gate.name.clone(),
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
        JobEnd::Ran { finished, timed_out } => judge(&mut result, finished, *timed_out, timeout),
    }
    let counted = ralph_evidence::tamper::tests_counted(&result.tail);
    if let Some(why) = counted
        .and_then(|counted| ralph_evidence::tamper::no_test_ran(counted, &gate.run))
        .filter(|_| result.passed)
    {
        (result.passed, result.error) = (false, Some(why));
    }
    let GateFinished { passed, exit_code, timed_out, error, duration, tail, .. } = result;
    GateOutcome { passed, exit_code, timed_out, error, duration, tail }
}
