//! `ralph doctor`: what works on this machine, found by trying. A check is one file and one line in the list.

mod contain;
mod limits;
mod sandbox;

use crate::args::DoctorArgs;
use crate::error::CliError;

/// What a check found.
pub struct Finding {
    pub verdict: Verdict,
    pub text: String,
    /// What to do about it, or what it means.
    pub more: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// Something is missing, and ralph goes on without it and says so.
    Weak,
    Bad,
}

impl Finding {
    fn good(text: impl Into<String>) -> Self {
        Self { verdict: Verdict::Good, text: text.into(), more: Vec::new() }
    }

    fn weak(text: impl Into<String>) -> Self {
        Self { verdict: Verdict::Weak, ..Self::good(text) }
    }

    fn bad(text: impl Into<String>) -> Self {
        Self { verdict: Verdict::Bad, ..Self::good(text) }
    }

    fn and(mut self, more: impl Into<String>) -> Self {
        self.more.push(more.into());
        self
    }
}

struct Check {
    name: &'static str,
    run: fn() -> Finding,
}

const CHECKS: &[Check] = &[
    Check { name: "containment", run: contain::check },
    Check { name: "sandbox", run: sandbox::check },
    Check { name: "limits", run: limits::check },
];

pub fn doctor(_: DoctorArgs) -> Result<u8, CliError> {
    ralph_runtime::process::become_reaper()?;
    let mut lines = Vec::new();
    let mut code = 0;
    for check in CHECKS {
        let Finding { verdict, text, more } = (check.run)();
        let word = match verdict {
            Verdict::Good => "ok",
            Verdict::Weak => "weak",
            Verdict::Bad => "BAD",
        };
        if verdict == Verdict::Bad {
            code = 1;
        }
        lines.push(format!("{word:<5} {:<12} {text}", check.name));
        lines.extend(more.into_iter().map(|line| format!("{:19}{line}", "")));
    }
    crate::io::print(&lines.join("\n"))?;
    Ok(code)
}
