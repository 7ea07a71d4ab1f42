//! Keys that a user may well write and that mean nothing here: those of ralph-orchestrator that ralph does not
//! have, and those of ralph itself that are still to come.

/// Settings of ralph that are not there yet.
pub const NOT_YET: [&str; 5] =
    ["event_loop.required_events", "event_loop.starting_event", "hats", "idle", "loop_detection"];

/// Settings of ralph-orchestrator, and what to do instead where there is something.
pub const ORCHESTRATOR: [(&str, &str); 44] = [
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
