//! From the calls of an agent's tools to facts: which checks a call runs, and what each of them came to.

use ralph_core::check::{CheckResult, CheckRun, ExtraPattern, Kind};
use ralph_core::event::{ToolCall, ToolCalled, ToolFinished, ToolKind};

use super::ran::{Ran, tests_ran};
use super::{BROAD, Recognised, Vouched, explore, output, recognise, vouch};

/// Reads the calls of one attempt.
#[derive(Debug, Clone)]
pub struct CheckReader {
    workspace: String,
    extra: Vec<ExtraPattern>,
}

impl CheckReader {
    pub fn new(workspace: &str, extra: &[ExtraPattern]) -> Self {
        let workspace = workspace.trim_end_matches('/').to_owned();
        Self { workspace, extra: extra.to_vec() }
    }

    /// Adds the checks that this call runs. What they come to is not known yet.
    pub fn called(&self, call: &mut ToolCalled) {
        let ToolCall { kind, command, .. } = &call.call;
        if let Some(command) = command.as_deref().filter(|_| runs(*kind)) {
            call.checks = self.checks(command, |_| CheckResult::Unknown);
        }
    }

    /// Adds what the checks of this call came to, and whether it does nothing but look around.
    pub fn finished(&self, end: &mut ToolFinished) {
        let (kind, command) = (end.kind.unwrap_or(ToolKind::Shell), end.command.as_deref());
        end.only_looks =
            matches!(kind, ToolKind::Read | ToolKind::Search) || command.is_some_and(explore::is_exploration);
        let Some(command) = command.filter(|_| runs(kind)) else { return };
        let background = output::says_background(&end.result.output);
        // The program is not there, or may not be run: nothing was checked.
        let missing =
            matches!(end.result.exit_code, Some(126 | 127)) || output::says_absent(&end.result.output);
        let failed = end.has_failed();
        let ran = tests_ran(&end.result.output);
        let checks = self.checks(command, |check| match failed {
            _ if background || missing => CheckResult::Unknown,
            Some(false) if check.sure => match proves(check, ran) {
                true => CheckResult::Passed,
                false if output::says_failed(&end.result.output) => CheckResult::Failed,
                false => CheckResult::Unknown,
            },
            Some(true) if check.sure => CheckResult::Failed,
            _ if output::says_failed(&end.result.output) => CheckResult::Failed,
            _ => CheckResult::Unknown,
        });
        end.checks = checks;
    }

    fn checks(&self, command: &str, result: impl Fn(&Recognised) -> CheckResult) -> Vec<CheckRun> {
        let fact = |mut check: Recognised| {
            if self.is_elsewhere(&check) {
                check.vouched = Vouched::Never;
            }
            check.dir = self.relative(&check.dir);
            let (result, command) = (result(&check), check.key());
            let Recognised { kind, program, dir, chosen, compiles, .. } = check;
            let (wider, narrower): (Vec<String>, Vec<String>) =
                chosen.into_iter().partition(|word| BROAD.contains(&word.as_str()));
            CheckRun { kind, program, dir, command, whole: narrower.is_empty(), wider, compiles, result }
        };
        recognise(command, &self.extra).into_iter().map(fact).collect()
    }

    /// Whether something is checked that is not the workspace.
    fn is_elsewhere(&self, check: &Recognised) -> bool {
        const PLACES: &[&str] =
            &["--manifest-path", "-C", "--prefix", "--cwd", "--dir", "--directory", "--project", "--rootdir"];
        let outside = |path: &str| vouch::is_outside(path, &self.workspace);
        let words = check.chosen.iter().enumerate().any(|(at, word)| {
            let before = at.checked_sub(1).map_or("", |at| check.chosen[at].as_str());
            let place = word.split_once('=').filter(|(name, _)| PLACES.contains(name)).map(|(_, path)| path);
            let named = !word.starts_with('-') && (!before.starts_with('-') || PLACES.contains(&before));
            place.is_some_and(outside) || named && word.starts_with(['/', '~']) && outside(word)
        });
        let script = check.program.starts_with(['/', '~']) && outside(&check.program);
        words || script || outside(&check.dir)
    }

    /// `cd /path/of/the/workspace && npm test` is `npm test`.
    fn relative(&self, dir: &str) -> String {
        match dir.strip_prefix(&self.workspace) {
            Some(rest) if !self.workspace.is_empty() && (rest.is_empty() || rest.starts_with('/')) => {
                rest.trim_start_matches('/').to_owned()
            }
            _ => dir.to_owned(),
        }
    }
}

/// Whether a status that is the check's own, and says that all went well, is to be believed.
fn proves(check: &Recognised, ran: Ran) -> bool {
    match (check.vouched, check.kind, ran) {
        (Vouched::Never, ..) | (_, Kind::Test, Ran::None | Ran::Failed) => false,
        (Vouched::ByCount, _, ran) => ran == Ran::Some,
        (Vouched::ByStatus, ..) => true,
    }
}

fn runs(kind: ToolKind) -> bool {
    matches!(kind, ToolKind::Shell | ToolKind::Other)
}
