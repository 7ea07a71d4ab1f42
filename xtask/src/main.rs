//! Chores of the workspace: `cargo xtask TASK`. This file only dispatches; each task is one file.

mod agents;
mod bench;
mod fuzz;
mod generate;
mod lab;
mod metadata;
mod mutants;
mod overnight;
mod proof;
mod repo;
mod sim;
mod soak;
mod stuck;
mod tidy;
mod torture;
mod undo;

use std::process::ExitCode;

/// What a task failed with: a message for a person.
type Result<T> = std::result::Result<T, String>;

struct Task {
    name: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const TASKS: &[Task] = &[
    Task { name: "tidy", summary: "Check what a reviewer would: architecture, sizes, text.", run: tidy::run },
    Task { name: "gen", summary: "Write the generated files that `tidy` compares.", run: generate::run },
    Task { name: "mutants", summary: "Prove that the simulation catches broken engines.", run: mutants::run },
    Task { name: "bench", summary: "Measure what ralph costs, against a shell loop.", run: bench::run },
    Task {
        name: "torture",
        summary: "Kill the real program at random moments, and count what is left.",
        run: torture::run,
    },
    Task {
        name: "agents",
        summary: "Run the real agent CLIs against a scripted model, end to end.",
        run: agents::run,
    },
    Task { name: "stuck", summary: "Score the detectors of stuck runs on labelled cases.", run: stuck::run },
    Task {
        name: "proof",
        summary: "Let cheats and honest changes claim completion, and count who is refused.",
        run: proof::run,
    },
    Task {
        name: "fuzz",
        summary: "Feed damaged bytes to everything that reads what others wrote.",
        run: fuzz::run,
    },
    Task { name: "sim", summary: "Simulate a million crashes of the engine.", run: sim::run },
    Task {
        name: "soak",
        summary: "Kill and resume a run for a long time, and see what grows.",
        run: soak::run,
    },
    Task {
        name: "overnight",
        summary: "Print what a recorded night of an idle agent costs, with and without idle settings.",
        run: overnight::run,
    },
    Task {
        name: "undo",
        summary: "Let random agents work, undo what they did, and compare every byte.",
        run: undo::run,
    },
    Task { name: "help", summary: "List the tasks.", run: help },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // The agent of a benchmark, not a task.
    if let Some((name, rest)) = args.split_first().filter(|(name, _)| *name == "__flood") {
        return ended(bench::flood(rest).map_err(|error| format!("{name}: {error}")));
    }
    ended(dispatch(TASKS, &args))
}

fn ended(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(tasks: &[Task], args: &[String]) -> Result<()> {
    let known = || tasks.iter().map(|task| task.name).collect::<Vec<_>>().join(", ");
    let Some((name, rest)) = args.split_first() else {
        return Err(format!("no task given; the tasks are: {}", known()));
    };
    match tasks.iter().find(|task| task.name == name) {
        Some(task) => (task.run)(rest),
        None => Err(format!("unknown task `{name}`; the tasks are: {}", known())),
    }
}

fn help(args: &[String]) -> Result<()> {
    match args {
        [] => TASKS.iter().for_each(|task| println!("{:<9}{}", task.name, task.summary)),
        [flag] if flag == "--markdown" => {
            println!("| task | what it does |\n|---|---|");
            TASKS.iter().for_each(|task| println!("| `cargo xtask {}` | {} |", task.name, task.summary));
        }
        _ => return Err("help takes nothing but `--markdown`".into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAKE: &[Task] = &[
        Task { name: "echo", summary: "", run: |args| Err(args.join("+")) },
        Task { name: "fine", summary: "", run: |_| Ok(()) },
    ];

    fn run(words: &[&str]) -> Result<()> {
        dispatch(FAKE, &words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn a_task_gets_the_arguments_after_its_name() {
        assert_eq!(run(&["echo", "a", "b"]), Err("a+b".into()));
        assert_eq!(run(&["fine", "x"]), Ok(()));
    }

    #[test]
    fn an_unknown_or_missing_task_lists_the_known_ones() {
        assert_eq!(run(&["nope"]), Err("unknown task `nope`; the tasks are: echo, fine".into()));
        assert_eq!(run(&[]), Err("no task given; the tasks are: echo, fine".into()));
    }
}
