//! Keys that a user may well write and that mean nothing here: those of other loops, and what ralph has instead.

/// Settings of ralph-orchestrator, and what to do instead where there is something.
pub const ORCHESTRATOR: [(&str, &str); 49] = [
    ("RObot", "guide a running loop with `ralph say`"),
    ("_suppress_warnings", "remove it: a wrong key is an error here, not a warning"),
    ("adapters", "set `agent`, and `event_loop.iteration_timeout` for a timeout"),
    ("agent_args", "write the arguments into `agent`, or use its `args`"),
    ("agent_priority", "name one agent with `agent`"),
    ("allow_unsafe_paths", ""),
    ("archive_prompts", "remove it: the prompt of every iteration is kept with the run"),
    ("checkpoint_interval", "remove it: every iteration is recorded; ralph leaves git alone"),
    ("cli.default_mode", "remove it: ralph always runs agents without a terminal"),
    ("cli.experimental_tui", ""),
    ("cli.idle_timeout_secs", "use `event_loop.silence_timeout`"),
    ("context_threshold", ""),
    ("context_window", ""),
    ("dry_run", "use `ralph run --dry-run`"),
    ("enable_metrics", "remove it: `ralph status` and `ralph events --json` always have the numbers"),
    ("event_loop.cancellation_promise", ""),
    ("event_loop.checkpoint_interval", "remove it: every iteration is recorded; ralph leaves git alone"),
    ("event_loop.cooldown_delay_seconds", "use `event_loop.delay`"),
    ("event_loop.enforce_hat_scope", ""),
    ("event_loop.idle_timeout_secs", "use `event_loop.silence_timeout`"),
    ("event_loop.mutation_score_warn_threshold", ""),
    ("event_loop.persistent", ""),
    ("event_loop.starting_hat", ""),
    ("events", ""),
    ("features", ""),
    ("git_checkpoint", "remove it: every iteration is recorded; ralph leaves git alone"),
    ("hats.*.aggregate", ""),
    ("hats.*.concurrency", "remove it: one hat is worn at a time"),
    ("hats.*.disallowed_tools", "use the options of the hat's own agent: `agent` and `args`"),
    ("hats.*.import", "write the hat out here"),
    ("hats.*.timeout", "use `iteration_timeout`"),
    ("hooks", ""),
    ("iteration_telemetry", "remove it: every iteration is recorded; see `ralph events`"),
    ("max_prompt_size", ""),
    ("max_tokens", "use `event_loop.max_tokens`"),
    ("memories", ""),
    ("metrics_interval", ""),
    ("mode", ""),
    ("output_preview_length", ""),
    ("retry_delay", "use `event_loop.failure_backoff`"),
    ("skills", ""),
    ("state_dir", "set RALPH_STATE_DIR in the environment"),
    ("tasks", ""),
    ("telemetry", ""),
    ("tool_permissions", "use the agent's own options"),
    ("tui", ""),
    ("verbose", "use `ralph run -v`"),
    ("web", ""),
    ("workspace_root", "use `ralph run -C DIR`"),
];

/// Settings of other loops by their last word, as it is spelt with underscores: who calls it so, and what it is here.
pub const OTHERS: [(&str, &str, &str); 24] = [
    ("ralph_loop_enabled", "TalkCody", "use `enabled`; `false` is a single pass"),
    ("is_ralph_loop_enabled", "TalkCody", "use `enabled`; `false` is a single pass"),
    (
        "ralph_loop",
        "TalkCody",
        "write what is in it at the top level: `event_loop`, `stop`, `memory`, `context`",
    ),
    ("stop_criteria", "TalkCody", "use `stop`"),
    ("require_passing_tests", "TalkCody", "use `stop.require_passing_tests`"),
    ("max_wall_time_ms", "TalkCody", "use `event_loop.max_wall_time`, with a unit: 60m"),
    ("summary_file_name", "TalkCody", "use `memory.summary_file`"),
    ("feedback_file_name", "TalkCody", "use `memory.feedback_file`"),
    ("state_file_name", "TalkCody", "use `memory.state_file`"),
    ("include_last_n_messages", "TalkCody", "use `context.include_last_n_messages`"),
    ("context_freshness", "TalkCody", "use `context`"),
    ("memory_strategy", "TalkCody", "use `memory`"),
    ("user_message", "TalkCody", "use `prompt`"),
    ("checks", "ralphify", "use `gates`"),
    ("contexts", "ralphify", "use `commands`, and `{{ commands.NAME }}` in the prompt"),
    ("instructions", "ralphify", "write them into the prompt"),
    ("timeout", "ralphify", "use `event_loop.iteration_timeout`"),
    ("num_iterations", "ralphify", "use `event_loop.max_iterations`"),
    ("log_dir", "ralphify", "use `ralph run --log-dir DIR`"),
    ("iterations", "ralphify", "use `event_loop.max_iterations`"),
    ("backend", "ralph-orchestrator", "use `agent`, or `cli.backend`"),
    ("completion_promise", "ralph-orchestrator", "use `event_loop.completion_promise`"),
    ("max_runtime_seconds", "ralph-orchestrator", "use `event_loop.max_runtime`"),
    ("max_cost", "ralph-orchestrator", "use `event_loop.max_cost_usd`"),
];

/// `stopCriteria` as `stop_criteria`.
pub fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() && !out.ends_with(['_', '.']) {
            out.push('_');
        }
        out.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_is_read_as_words() {
        let words =
            ["stopCriteria", "maxWallTimeMs", "is_ralph_loop_enabled", "a.bC", "max-iterations"].map(snake);
        assert_eq!(
            words,
            ["stop_criteria", "max_wall_time_ms", "is_ralph_loop_enabled", "a.b_c", "max_iterations"]
        );
    }

    #[test]
    fn what_is_said_to_be_here_is_here() {
        let paths = crate::schema::paths();
        for (name, _, instead) in OTHERS {
            let mut named = instead.split('`').skip(1).step_by(2).filter(|word| !word.contains([' ', '{']));
            let wrong = named.find(|word| *word != "false" && !paths.iter().any(|path| path == word));
            assert_eq!(wrong, None, "{name}");
        }
    }
}
