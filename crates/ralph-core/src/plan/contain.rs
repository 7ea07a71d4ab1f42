//! `contain`: what keeps the processes of an agent together, so that none of them outlives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::{Rule, leaf};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contain {
    /// A pid namespace where one is to be had, else a keeper alone, which is said at the start.
    #[default]
    Auto,
    /// A pid namespace. Where there is none nothing is started.
    Namespace,
    /// A keeper alone: programs that change their user, such as sudo, work.
    Keeper,
}

leaf!(Contain, Contain, |it| it, |it| *it);
