//! `ralph gates audit`: which cheats the gates would let through.

use std::path::Path;

use ralph_core::plan::Gate;
use ralph_evidence::cheat::verdict::{Base, Fate, Findings, Tried};
use ralph_evidence::cheat::{Copy, NOTHING_DONE, by_hand};
use ralph_model::{AuditTree, AuditedCheat, AuditedGate, GateAudit};
use ralph_runtime::gate_audit::{AuditError, Audited};
use ralph_store::Store;

use super::{Progress, exit_code, load_some};
use crate::args::GatesAuditArgs;
use crate::error::CliError;

pub fn audit(args: GatesAuditArgs) -> Result<u8, CliError> {
    let (workspace, gates) = load_some(args.target, &args.definition)?;
    let gates: Vec<Gate> = gates.into_iter().map(|one| one.gate).filter(|gate| gate.required).collect();
    if gates.is_empty() {
        let message = "no gate is required, so none can refuse a claim; set `required: true`";
        return Err(CliError::Usage(message.to_owned()));
    }
    let only = args.cheat;
    let store = Store::from_env()?;
    let progress = Progress::new(args.definition.json);
    let audited = ralph_runtime::gate_audit::audit(
        &store.scratch_dir(),
        &workspace,
        &gates,
        only.clone(),
        &mut |what| progress.say(&format!("trying {what}")),
    );
    drop(progress);
    let audited = match audited {
        Ok(audited) => audited,
        Err(AuditError::Interrupted(by)) => {
            crate::io::complain("interrupted: the audit was ended, and nothing is left of it");
            return Ok(exit_code(by));
        }
        Err(error) => return Err(CliError::Failed(error.to_string())),
    };
    let is_real = |one: &Tried| one.cheat.name != NOTHING_DONE;
    let was_tried = matches!(audited.findings.base, Base::Untouched | Base::Broken { .. });
    if !only.is_empty() && was_tried && !audited.findings.tried.iter().any(is_real) {
        let message = format!("no cheat that fits this project begins with `{}`", only.join("`, `"));
        return Err(CliError::Usage(message));
    }
    let report = Report { workspace: &workspace, gates: &gates, audited: &audited };
    match args.definition.json {
        true => crate::io::print_json(&report.typed())?,
        false => crate::io::print(&report.text())?,
    }
    Ok(u8::from(!audited.findings.is_clean()))
}

/// What is told of an audit.
struct Report<'a> {
    workspace: &'a Path,
    gates: &'a [Gate],
    audited: &'a Audited,
}

impl Report<'_> {
    fn findings(&self) -> &Findings {
        &self.audited.findings
    }

    fn text(&self) -> String {
        let findings = self.findings();
        let gates: Vec<String> = self
            .gates
            .iter()
            .map(|gate| format!("{} (`{}`)", gate.name, shell_words::join(&gate.run)))
            .collect();
        let mut out =
            vec![format!("audited in a copy of {}: {}", self.workspace.display(), gates.join(", "))];
        out.extend(self.audited.notes.iter().map(|note| format!("note: {note}")));
        out.extend(already(findings));
        out.extend(base(findings));
        out.push(String::new());
        let width = findings.tried.iter().map(|one| one.cheat.name.len()).max().unwrap_or(0);
        for one in &findings.tried {
            let name = &one.cheat.name;
            match &one.fate {
                Fate::LetThrough => {
                    out.push(format!("LET THROUGH  {name:width$}  {}", one.cheat.what));
                    out.push(format!("             {:width$}  close it: {}", "", one.cheat.cure));
                }
                Fate::Caught { by, why } => out.push(format!("caught       {name:width$}  by {by}: {why}")),
            }
        }
        out.push(String::new());
        out.push(verdict(findings));
        let through: Vec<&Tried> = findings.let_through().collect();
        if !through.is_empty() {
            out.push("\nBy hand, each in a copy of its own, with a shell:".to_owned());
            out.extend(
                through
                    .iter()
                    .map(|one| format!("\n# {}: {}\n{}", one.cheat.name, one.cheat.what, self.by_hand(one))),
            );
        }
        out.join("\n")
    }

    /// The commands that show the same without ralph.
    fn by_hand(&self, tried: &Tried) -> String {
        let workspace = self.workspace.to_string_lossy();
        let inside = format!("{workspace}/");
        let words = |gate: &Gate| gate.run.iter().map(|word| word.replace(&inside, "./")).collect();
        let gates: Vec<(String, Vec<String>)> =
            self.gates.iter().map(|gate| (gate.name.clone(), words(gate))).collect();
        let copy = Copy { workspace: &workspace, project: &self.audited.project };
        by_hand(&copy, &tried.edits, &gates)
    }

    fn typed(&self) -> GateAudit {
        let findings = self.findings();
        GateAudit {
            workspace: self.workspace.to_owned(),
            gates: self.gates.iter().map(|gate| self.gate(gate)).collect(),
            tree: tree(&findings.base),
            cheats: findings.tried.iter().map(|one| self.cheat(one)).collect(),
            let_through: findings.let_through().count(),
            unsteady: findings.unsteady,
            clean: findings.is_clean(),
            notes: self.audited.notes.clone(),
        }
    }

    fn gate(&self, gate: &Gate) -> AuditedGate {
        let ran = self.findings().untouched.iter().find(|ran| ran.name == gate.name);
        let passes_already = ran.is_some_and(|ran| ran.passed);
        AuditedGate {
            name: gate.name.clone(),
            run: gate.run.clone(),
            passes_already,
            why: ran.filter(|_| !passes_already).map(|ran| ran.why.clone()),
        }
    }

    fn cheat(&self, one: &Tried) -> AuditedCheat {
        let let_through = one.fate == Fate::LetThrough;
        let (caught_by, why) = match &one.fate {
            Fate::Caught { by, why } => (Some(by.clone()), Some(why.clone())),
            Fate::LetThrough => (None, None),
        };
        AuditedCheat {
            name: one.cheat.name.clone(),
            what: one.cheat.what.clone(),
            let_through,
            caught_by,
            why,
            close: let_through.then(|| one.cheat.cure.clone()),
            by_hand: let_through.then(|| self.by_hand(one)),
        }
    }
}

/// The tree on which the cheats were tried.
fn tree(base: &Base) -> AuditTree {
    match base {
        Base::Untouched => AuditTree::Untouched,
        Base::Broken { breakage, builds } => {
            AuditTree::Broken { what: breakage.what.clone(), builds: *builds }
        }
        Base::Unnoticed { tried } => AuditTree::Unnoticed { tried: tried.clone() },
        Base::NothingToBreak => AuditTree::NothingToBreak,
    }
}

/// Gates that pass before anything is done.
fn already(findings: &Findings) -> Vec<String> {
    let line = |name: &str| format!("{name} passes already: that it passes proves nothing about this task");
    findings.untouched.iter().filter(|ran| ran.passed).map(|ran| line(&ran.name)).collect()
}

fn base(findings: &Findings) -> Vec<String> {
    match &findings.base {
        Base::Untouched => {
            let failing = findings.untouched.iter().filter(|ran| !ran.passed);
            let mut lines: Vec<String> =
                failing.map(|ran| format!("{} fails in the untouched copy: {}", ran.name, ran.why)).collect();
            lines.push("the cheats were tried on the untouched copy; what git ignores, other than dependencies, is not in it".to_owned());
            lines
        }
        Base::Broken { breakage, builds } => {
            let mut lines =
                vec![format!("so that a gate fails, the code was broken first: {}", breakage.what)];
            if !builds {
                lines.push(
                    "the broken code does not build, so a cheat may be caught by that alone".to_owned(),
                );
            }
            lines
        }
        Base::Unnoticed { tried } => {
            let mut lines =
                vec!["the gates do not notice broken code; they pass with each of these:".to_owned()];
            lines.extend(tried.iter().map(|what| format!("  {what}")));
            lines
        }
        Base::NothingToBreak => {
            vec![
                "there is no code here that the audit knows how to break, so no cheat could be tried"
                    .to_owned(),
            ]
        }
    }
}

fn verdict(findings: &Findings) -> String {
    let through = findings.let_through().filter(|one| one.cheat.name != NOTHING_DONE).count();
    let tried = findings.tried.iter().filter(|one| one.cheat.name != NOTHING_DONE).count();
    match (&findings.base, findings.unsteady) {
        (_, true) => {
            "the gates are unsteady: the same tree failed and passed, so nothing said here can be relied on"
                .to_owned()
        }
        (Base::Unnoticed { .. }, _) => {
            "no cheat was tried: each would pass as the broken code does".to_owned()
        }
        (Base::NothingToBreak, _) => "no cheat was tried".to_owned(),
        _ => format!(
            "{tried} cheat{} tried: {through} let through, {} caught",
            if tried == 1 { "" } else { "s" },
            tried - through
        ),
    }
}
