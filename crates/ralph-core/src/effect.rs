//! Work to start. The engine hands these out; the executor starts them and never waits for them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::event::{TestCount, TimerId};
use crate::ids::IterationNumber;
use crate::plan::Gate;
use crate::prompt::Draft;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    SpawnAgent(SpawnAgent),
    /// TERM, the grace, KILL. No grace: KILL at once.
    KillAgent {
        grace: Duration,
    },
    /// Run these gates of the plan on the tree as it is, as many at a time as the plan says.
    RunGates(RunGates),
    /// Bring the files of the memory up to date: the run has stopped.
    SaveMemory(Box<Draft>),
    KillGates {
        grace: Duration,
    },
    /// Watch for work that ends this wait; what has come since it began counts too.
    StartWake {
        epoch: u64,
        since: Timestamp,
    },
    /// The wait is over.
    StopWake,
    /// Read what all runs have spent, and report it.
    ReadLedger,
    /// A timer takes the place of an older one in the same slot.
    StartTimer {
        timer: TimerId,
        when: When,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpawnAgent {
    pub iteration: IterationNumber,
    pub attempt: u32,
    /// Which of the plan's agents.
    pub agent: usize,
    pub prompt: Box<Draft>,
    /// Report when the agent has printed nothing for this long.
    pub silence_timeout: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunGates {
    pub iteration: IterationNumber,
    pub round: u32,
    pub gates: Vec<Gate>,
    /// The most tests that each gate has counted in this run, by its name.
    pub counted: BTreeMap<String, TestCount>,
    /// Tests went for a reason that can be seen.
    pub fewer_expected: bool,
}

/// Work is timed by a clock that stands still while the machine sleeps; waits end at a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    After(Duration),
    At(Timestamp),
}

/// What came of one input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    pub events: Vec<crate::event::Event>,
    pub effects: Vec<Effect>,
}
