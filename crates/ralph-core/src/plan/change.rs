//! What a resumed run does differently from here on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EventLoop, EventLoopChange, Plan, StuckChange};

/// The settings that a person changed, and no others. Everything else of a plan stays as it was: another task or agent
/// would be another run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, expecting = "a mapping")]
#[schemars(deny_unknown_fields)]
pub struct SettingsChange {
    #[serde(skip_serializing_if = "EventLoopChange::is_empty")]
    pub event_loop: EventLoopChange,
    #[serde(skip_serializing_if = "StuckChange::is_empty")]
    pub loop_detection: StuckChange,
}

impl SettingsChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn apply(&self, plan: &mut Plan) {
        self.event_loop.apply(&mut plan.event_loop);
        self.loop_detection.apply(&mut plan.stuck);
    }
}

impl From<EventLoop> for SettingsChange {
    fn from(event_loop: EventLoop) -> Self {
        Self { event_loop: (&event_loop).into(), ..Self::default() }
    }
}
