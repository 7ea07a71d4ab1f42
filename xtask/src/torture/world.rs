//! A workspace, an agent that leaves processes behind, and ralph at work there.

use super::Tally;
use crate::Result;
use crate::lab::{Lab, WATCHED, empty, living};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Iterations of one run.
pub const ITERATIONS: u32 = 30;

/// How long a person may find anything alive after the end.
pub const MERCY: Duration = Duration::from_secs(2);

/// Every process below a session has this in its environment.
const TOKEN: &str = "TORTURE_SESSION";

/// Writes down that it runs, leaves a child that ignores signals and a daemon (own session, forked twice) that both keep
/// its output open, and works for a moment.
const AGENT: &str = r#"#!/bin/sh
echo "start $RALPH_RUN_ID $RALPH_ITERATION $RALPH_ATTEMPT $TORTURE_SESSION" >> "$TORTURE_LEDGER"
[ -z "$TORTURE_DEAF" ] || trap '' TERM
(trap '' TERM INT HUP; exec sleep 1000) &
(setsid sh -c "trap '' TERM INT HUP; sleep 1000 & sleep 1000 & exit" &)
echo working
if [ -n "$TORTURE_SLOW" ]; then sleep 600; else sleep 0.0$((RALPH_ITERATION % 5 + 1)); fi
echo "end $RALPH_RUN_ID $RALPH_ITERATION $RALPH_ATTEMPT $TORTURE_SESSION" >> "$TORTURE_LEDGER"
"#;

pub struct World<'a> {
    lab: &'a Lab,
    name: &'static str,
    pub state: PathBuf,
    workspace: PathBuf,
    agent: PathBuf,
    pub ledger: PathBuf,
    sessions: u32,
}

/// One process of ralph.
pub struct Session {
    child: Child,
    pub token: String,
    errors: PathBuf,
}

#[derive(Clone, Copy, Default)]
pub struct Agent {
    /// Works longer than anyone waits.
    pub slow: bool,
    /// Ignores TERM.
    pub deaf: bool,
}

impl<'a> World<'a> {
    pub fn new(lab: &'a Lab, name: &'static str) -> Result<World<'a>> {
        let agent = lab.file(&format!("{name}-agent"), AGENT)?;
        Ok(World {
            lab,
            name,
            state: empty(lab.path(&format!("{name}-state")))?,
            workspace: lab.folder(&format!("{name}-workspace"))?,
            agent,
            ledger: lab.file(&format!("{name}-ledger"), "")?,
            sessions: 0,
        })
    }

    /// `ralph run`, or `ralph resume` of this run.
    pub fn start(&mut self, resume: Option<&Path>, agent: Agent) -> Result<Session> {
        self.sessions += 1;
        let token = format!("{}-{}-{}", self.name, std::process::id(), self.sessions);
        let mut ralph = self.lab.ralph(&self.state);
        match resume {
            Some(run) => ralph.args(["resume", &name(run)]),
            None => ralph
                .args(["run", "-p", "task", "-a", &format!("sh {}", self.agent.display())])
                .args([
                    "-n",
                    &ITERATIONS.to_string(),
                    // As often as it is killed. Giving up has its own tests.
                    "--set",
                    "event_loop.max_attempts=1000",
                ])
                .args(WATCHED),
        };
        let errors = self.lab.path(&format!("{token}.stderr"));
        let file = File::create(&errors).map_err(|error| format!("{}: {error}", errors.display()))?;
        ralph.arg("-C").arg(&self.workspace).env(TOKEN, &token).env("TORTURE_LEDGER", &self.ledger);
        ralph.env("TORTURE_SLOW", if agent.slow { "1" } else { "" });
        ralph.env("TORTURE_DEAF", if agent.deaf { "1" } else { "" });
        // Its own group, as a shell would give it: a Ctrl-C goes to all of it.
        let child = ralph.stdout(Stdio::null()).stderr(file).process_group(0).spawn();
        let child = child.map_err(|error| format!("{ralph:?}: {error}"))?;
        Ok(Session { child, token, errors })
    }

    pub fn ledger(&self) -> Result<String> {
        std::fs::read_to_string(&self.ledger).map_err(|error| format!("{}: {error}", self.ledger.display()))
    }

    /// Whether an agent of this session has started.
    pub fn has_started(&self, session: &str) -> Result<bool> {
        let end = format!(" {session}");
        Ok(self.ledger()?.lines().any(|line| line.starts_with("start ") && line.ends_with(&end)))
    }

    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.state.join("runs")) else { return Vec::new() };
        let mut runs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        runs.sort();
        runs
    }

    /// Waits until nothing of an ended session is alive. How long that took; what is alive after two seconds is wrong.
    pub fn wait_for_death(&self, session: &str, tally: &mut Tally) -> Duration {
        let start = Instant::now();
        loop {
            let alive = alive(session);
            let took = start.elapsed();
            if alive.is_empty() {
                return took;
            }
            if took > MERCY {
                tally.wrong(format!("alive two seconds after {session} ended: {}", alive.join(", ")));
                return took;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Verifies a run with ralph itself.
    pub fn verify(&self, run: &str) -> Result<String> {
        crate::repo::stdout_of(
            self.lab.ralph(&self.state).args(["replay", "--verify", run, "-C"]).arg(&self.workspace),
        )
    }
}

impl Session {
    /// To the whole group, as the terminal does it.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Not collected yet, so the number is still its.
            let _ = kill_process_group(group, signal);
        }
    }

    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().and_then(|()| self.child.wait()).map(drop).map_err(|error| error.to_string())
    }

    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().map_err(|error| error.to_string())
    }

    /// The exit code, or nothing if it has not ended by then.
    pub fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        wait_until(patience, || self.try_wait())
    }

    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Nothing of a session that somebody gave up may stay.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The name of a run, from its folder.
pub fn name(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Asks until there is an answer or the time is over.
pub fn wait_until<T>(patience: Duration, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask()? {
            return Ok(Some(answer));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The living processes of a session, by what they inherited.
pub fn alive(session: &str) -> Vec<String> {
    let mine = format!("{TOKEN}={session}");
    living(|process| {
        let environ = std::fs::read(process.join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|pair| pair == mine.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_living_are_found_by_what_they_inherited() {
        let token = format!("test-{}", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", "setsid sleep 1000 & read line; kill $!"])
            .env(TOKEN, &token)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let two = wait_until(Duration::from_secs(10), || Ok((alive(&token).len() == 2).then_some(())));
        assert_eq!(two, Ok(Some(())));
        assert!(alive(&token).iter().any(|one| one.contains("sleep 1000")));
        assert_eq!(alive(&format!("{token}0")), [""; 0]);
        drop(child.stdin.take());
        child.wait().unwrap();
        let none = wait_until(Duration::from_secs(10), || Ok(alive(&token).is_empty().then_some(())));
        assert_eq!(none, Ok(Some(())));
    }
}
