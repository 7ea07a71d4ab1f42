//! An audit, step by step: what to try next, and what was learned of it. Whoever runs the gates does only that.
//!
//! ```text
//! the untouched tree ── fails ─────────────────────────────► the cheats, one at a time, on a tree that fails
//!         └── passes ──► broken code, until a gate notices ──┘
//! ```

use super::breakage::is_build_failure;
use super::{Breakage, Cheat, Edit, GateLine, NOTHING_DONE, Project, breakages, corpus};

/// How a required gate ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRan {
    pub name: String,
    pub passed: bool,
    /// Why it did not pass, in a few words: `exit code 1`.
    pub why: String,
    /// The end of what it printed.
    pub tail: String,
}

/// What came of a cheat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Every required gate passes.
    LetThrough,
    /// This gate fails all the same.
    Caught { by: String, why: String },
}

impl Fate {
    /// Of the gates that ran, up to the first that failed.
    pub fn of(ran: &[GateRan]) -> Self {
        match ran.iter().find(|gate| !gate.passed) {
            Some(gate) => Fate::Caught { by: gate.name.clone(), why: gate.why.clone() },
            None if ran.is_empty() => Fate::Caught { by: String::new(), why: "no gate ran".to_owned() },
            None => Fate::LetThrough,
        }
    }
}

/// The tree on which cheats are tried: one with which the gates fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The workspace as it is.
    Untouched,
    /// The gates pass already, so the code was broken.
    Broken { breakage: Breakage, builds: bool },
    /// No breakage made a gate fail.
    Unnoticed { tried: Vec<String> },
    /// The gates pass already, and there is no code that could be broken.
    NothingToBreak,
}

/// One thing to try: the edits are those from the untouched tree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    pub what: String,
    pub edits: Vec<Edit>,
    /// Run every gate, also behind one that failed.
    pub all: bool,
}

/// A cheat and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    pub cheat: Cheat,
    /// All edits from the untouched tree on, those that broke the code included.
    pub edits: Vec<Edit>,
    pub fate: Fate,
}

/// What an audit came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// How the gates ended on the untouched tree.
    pub untouched: Vec<GateRan>,
    pub base: Base,
    pub tried: Vec<Tried>,
    /// The gates ended differently on one and the same tree: nothing here can be relied on.
    pub unsteady: bool,
}

impl Findings {
    pub fn let_through(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|one| one.fate == Fate::LetThrough)
    }

    /// Whether there is nothing to be said against the gates.
    pub fn is_clean(&self) -> bool {
        let is_noticed = matches!(self.base, Base::Untouched | Base::Broken { .. });
        is_noticed && !self.unsteady && self.let_through().next().is_none()
    }
}

enum Phase {
    Untouched,
    Breaking {
        at: usize,
    },
    Cheating {
        at: usize,
    },
    /// The tree that failed, again.
    Again,
    Done,
}

pub struct Audit {
    project: Project,
    gates: Vec<GateLine>,
    /// Only cheats whose name begins with one of these; all, if there is none.
    only: Vec<String>,
    phase: Phase,
    breakages: Vec<Breakage>,
    cheats: Vec<Cheat>,
    /// The first breakage that a gate noticed because it does not build.
    unbuilt: Option<Breakage>,
    findings: Findings,
}

impl Audit {
    pub fn new(project: Project, gates: Vec<GateLine>, only: Vec<String>) -> Self {
        let findings =
            Findings { untouched: Vec::new(), base: Base::Untouched, tried: Vec::new(), unsteady: false };
        let breakages = breakages(&project, &gates);
        Self {
            project,
            gates,
            only,
            phase: Phase::Untouched,
            breakages,
            cheats: Vec::new(),
            unbuilt: None,
            findings,
        }
    }

    /// What to try next. Nothing: the audit is done.
    pub fn next(&self) -> Option<Trial> {
        Some(match self.phase {
            Phase::Untouched => {
                Trial { what: "the workspace as it is".to_owned(), edits: Vec::new(), all: true }
            }
            Phase::Breaking { at } => {
                let one = &self.breakages[at];
                Trial { what: format!("broken code: {}", one.what), edits: one.edits.clone(), all: false }
            }
            Phase::Cheating { at } => {
                let cheat = &self.cheats[at];
                Trial { what: cheat.name.clone(), edits: self.whole(cheat), all: false }
            }
            Phase::Again => Trial {
                what: "the tree that failed, again".to_owned(),
                edits: self.base_edits().to_vec(),
                all: false,
            },
            Phase::Done => return None,
        })
    }

    /// Takes note of how the gates ended on what [`Audit::next`] gave.
    pub fn learn(&mut self, ran: Vec<GateRan>) {
        let fate = Fate::of(&ran);
        self.phase = match self.phase {
            Phase::Untouched => {
                self.findings.untouched = ran;
                match fate {
                    Fate::Caught { .. } => self.begin(Base::Untouched),
                    Fate::LetThrough => self.nothing_done(),
                }
            }
            Phase::Breaking { at } => self.broke(at, &ran, &fate),
            Phase::Cheating { at } => {
                let cheat = self.cheats[at].clone();
                let edits = self.whole(&cheat);
                self.findings.tried.push(Tried { cheat, edits, fate });
                if at + 1 < self.cheats.len() { Phase::Cheating { at: at + 1 } } else { self.after() }
            }
            Phase::Again => {
                self.findings.unsteady = fate == Fate::LetThrough;
                Phase::Done
            }
            Phase::Done => Phase::Done,
        };
    }

    pub fn findings(self) -> Findings {
        self.findings
    }

    /// The gates pass although nothing was done.
    fn nothing_done(&mut self) -> Phase {
        if let Some(cheat) =
            corpus(&self.project, &self.gates).into_iter().find(|cheat| cheat.name == NOTHING_DONE)
        {
            self.findings.tried.push(Tried { cheat, edits: Vec::new(), fate: Fate::LetThrough });
        }
        match self.breakages.is_empty() {
            true => {
                self.findings.base = Base::NothingToBreak;
                Phase::Done
            }
            false => Phase::Breaking { at: 0 },
        }
    }

    fn broke(&mut self, at: usize, ran: &[GateRan], fate: &Fate) -> Phase {
        let breakage = self.breakages[at].clone();
        if *fate != Fate::LetThrough {
            let builds = !ran.iter().any(|gate| !gate.passed && is_build_failure(&gate.tail));
            if builds {
                return self.begin(Base::Broken { breakage, builds });
            }
            self.unbuilt.get_or_insert(breakage);
        }
        if at + 1 < self.breakages.len() {
            return Phase::Breaking { at: at + 1 };
        }
        match self.unbuilt.take() {
            Some(breakage) => self.begin(Base::Broken { breakage, builds: false }),
            None => {
                let tried = self.breakages.iter().map(|one| one.what.clone()).collect();
                self.findings.base = Base::Unnoticed { tried };
                Phase::Done
            }
        }
    }

    /// A tree is known that fails: the cheats can be tried on it.
    fn begin(&mut self, base: Base) -> Phase {
        let wanted = |cheat: &Cheat| {
            cheat.name != NOTHING_DONE
                && (self.only.is_empty()
                    || self.only.iter().any(|name| cheat.name.starts_with(name.as_str())))
        };
        let edits: &[Edit] = match &base {
            Base::Broken { breakage, .. } => &breakage.edits,
            _ => &[],
        };
        let broken = self.project.edited(edits);
        self.cheats = corpus(&broken, &self.gates).into_iter().filter(wanted).collect();
        if base == Base::Untouched {
            self.failing_untouched();
        }
        self.findings.base = base;
        if self.cheats.is_empty() { Phase::Done } else { Phase::Cheating { at: 0 } }
    }

    /// Doing nothing was tried already, and does not help.
    fn failing_untouched(&mut self) {
        let fate = Fate::of(&self.findings.untouched);
        if let Some(cheat) =
            corpus(&self.project, &self.gates).into_iter().find(|cheat| cheat.name == NOTHING_DONE)
        {
            self.findings.tried.push(Tried { cheat, edits: Vec::new(), fate });
        }
    }

    /// A gate that passes by chance would make an honest runner look like a cheated one.
    fn after(&self) -> Phase {
        let passed = self
            .findings
            .tried
            .iter()
            .any(|one| one.fate == Fate::LetThrough && one.cheat.name != NOTHING_DONE);
        if passed { Phase::Again } else { Phase::Done }
    }

    fn base_edits(&self) -> &[Edit] {
        match &self.findings.base {
            Base::Broken { breakage, .. } => &breakage.edits,
            _ => &[],
        }
    }

    /// A cheat on the broken tree, from the untouched one on. Each path once: the cheat has the last word.
    fn whole(&self, cheat: &Cheat) -> Vec<Edit> {
        let is_replaced = |edit: &&Edit| cheat.edits.iter().any(|other| other.path() == edit.path());
        let base = self.base_edits().iter().filter(|edit| !is_replaced(edit));
        base.chain(&cheat.edits).cloned().collect()
    }
}
