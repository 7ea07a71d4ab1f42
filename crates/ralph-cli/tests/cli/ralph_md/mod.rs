//! RALPH.md as docs/ralph-md-behaviours.md lists it: a folder that was written for ralphify runs here as it is.

mod arguments;
mod body;
mod commands;
mod file;
mod idle;
mod looping;
mod process;

use crate::harness::*;

/// A world with a ralph `r` whose agent keeps each prompt as `prompt-N.txt`.
struct Ralph {
    world: World,
    agent: String,
}

impl Ralph {
    fn new() -> Self {
        Self::of("save-prompt prompt-%i.txt")
    }

    /// With an agent that follows this script.
    fn of(script: &str) -> Self {
        let world = World::new();
        let agent = world.agent(script);
        Self { world, agent }
    }

    /// Writes `r/RALPH.md`: these settings beside the agent and no credit, and this body.
    fn write(&self, settings: &str, body: &str) -> &Self {
        let (agent, settings) = (&self.agent, settings.trim_matches('\n'));
        self.file(&format!("---\nagent: {agent}\ncredit: false\n{settings}\n---\n{body}"))
    }

    /// Writes `r/RALPH.md` as it is.
    fn file(&self, text: &str) -> &Self {
        self.world.write("r/RALPH.md", text);
        self
    }

    /// `ralph run r` and more.
    fn run(&self, args: &[&str]) -> Done {
        self.start(args).wait()
    }

    fn start(&self, args: &[&str]) -> Live {
        self.world.start([&["run", "r"], args].concat())
    }

    /// One iteration, and its prompt.
    #[track_caller]
    fn prompt(&self, args: &[&str]) -> String {
        self.run(&[&["-n", "1"], args].concat()).expect(3);
        self.world.read("prompt-1.txt")
    }

    /// Nothing is started, with exit code 2 and a message that has all of these parts. Gives the message.
    #[track_caller]
    fn refuses(&self, args: &[&str], parts: &[&str]) -> String {
        let done = self.run(args).expect(2);
        for part in parts {
            assert!(done.stderr.contains(part), "`{part}` is not in\n{}", done.stderr);
        }
        assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
        assert!(self.world.run_dirs().is_empty(), "a run was started");
        done.stderr
    }
}

/// An executable script in the workspace.
fn script(world: &World, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    world.write(name, &format!("#!/bin/sh\n{text}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.work(name), mode).expect("chmod");
}
