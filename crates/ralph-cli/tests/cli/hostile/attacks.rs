//! What hostile agents do.

pub struct Attack {
    pub name: &'static str,
    pub script: &'static str,
    /// What a person has to be told. Empty: nothing came of it, and there is nothing to tell.
    pub says: &'static str,
}

const fn attack(name: &'static str, script: &'static str) -> Attack {
    Attack { name, script, says: "" }
}

const fn noticed(name: &'static str, script: &'static str, says: &'static str) -> Attack {
    Attack { name, script, says }
}

/// Which of them it was depends on when ralph looks: a file is removed before it is replaced.
const NOTICED: &str = "while the run was at work";

pub const ATTACKS: &[Attack] = &[
    noticed("journal added to", r#"echo '{"seq":99}' >> $RUN/journal.jsonl"#, NOTICED),
    noticed("journal deleted", "rm $RUN/journal.jsonl", NOTICED),
    noticed("journal renamed", "mv $RUN/journal.jsonl $RUN/old", NOTICED),
    noticed("journal cut", ": > $RUN/journal.jsonl", NOTICED),
    noticed("journal replaced", "cp $RUN/journal.jsonl $RUN/new; mv $RUN/new $RUN/journal.jsonl", NOTICED),
    noticed("journal a link", "mv $RUN/journal.jsonl $RUN/old; ln -s old $RUN/journal.jsonl", NOTICED),
    noticed("journal a pipe", "rm $RUN/journal.jsonl; mkfifo $RUN/journal.jsonl", NOTICED),
    attack("mark removed", "rm -f $RUN/journal.mark"),
    attack("mark a pipe", "rm -f $RUN/journal.mark; mkfifo $RUN/journal.mark"),
    attack("mark a link", "ln -sf $OUT/file $RUN/journal.mark"),
    attack("reserve a link", "ln -sf $OUT/file $RUN/reserve"),
    attack("logs elsewhere", "rm -r $RUN/logs; ln -s $OUT $RUN/logs"),
    attack("prompts elsewhere", "rm -r $RUN/prompts; ln -s $OUT $RUN/prompts"),
    attack("next log a pipe", "rm -f $RUN/logs/0002-1.log; mkfifo $RUN/logs/0002-1.log $RUN/logs/0003-1.log"),
    attack("next log a link", "ln -sf $OUT/file $RUN/logs/0002-1.log"),
    attack(
        "next prompt a pipe",
        "rm -f $RUN/prompts/000[23]-1.md; mkfifo $RUN/prompts/0002-1.md $RUN/prompts/0003-1.md",
    ),
    attack("next prompt a link", "ln -sf $OUT/file $RUN/prompts/0002-1.md"),
    attack("gate log a link", "ln -sf $OUT/file $RUN/logs/0001-gate-never-1.log"),
    attack("gate log a pipe", "mkfifo $RUN/logs/0001-gate-never-1.log"),
    attack("touched a pipe", "rm -f $RUN/touched; mkfifo $RUN/touched; echo x > changed$RALPH_ITERATION"),
    attack("evidence a link", "rm -f $RUN/evidence.jsonl; ln -s $OUT/file $RUN/evidence.jsonl"),
    attack("baseline a pipe", "rm -f $RUN/baseline; mkfifo $RUN/baseline; echo x > test_$RALPH_ITERATION.py"),
    attack(".ralph elsewhere", "rm -rf .ralph; ln -s $OUT .ralph"),
    attack(".ralph a file", "rm -rf .ralph; echo x > .ralph"),
    attack(
        ".ralph/.gitignore a link",
        "mkdir -p .ralph; rm -f .ralph/.gitignore; ln -s $OUT/new .ralph/.gitignore",
    ),
    attack("a summary a link", "mkdir -p .ralph; ln -sf $OUT/file .ralph/.ralph-summary.md.new"),
    attack(
        "a summary a pipe",
        "mkdir -p .ralph; rm -f .ralph/.ralph-summary.md.new; mkfifo .ralph/.ralph-summary.md.new",
    ),
    attack(
        "an iteration a pipe",
        "mkdir -p .ralph; rm -f .ralph/.ralph-iteration.json.new; mkfifo .ralph/.ralph-iteration.json.new",
    ),
    attack(".git a pipe", "rm -rf .git; mkfifo .git"),
    attack(".git a device", "rm -rf .git; ln -s /dev/zero .git"),
    attack("index a pipe", "rm -f .git/index; mkfifo .git/index"),
    attack("index a device", "rm -f .git/index; ln -s /dev/zero .git/index"),
    attack("HEAD a pipe", "rm -f .git/HEAD; mkfifo .git/HEAD"),
    attack("git's settings a pipe", "rm -f .git/config; mkfifo .git/config"),
    attack("exclude a pipe", "mkdir -p .git/info; rm -f .git/info/exclude; mkfifo .git/info/exclude"),
    attack(".gitignore a pipe", "rm -f .gitignore; mkfifo .gitignore"),
    attack(".gitignore a device", "ln -sf /dev/zero .gitignore"),
    attack("the definition edited", "echo 'gates: []' > ralph.yml"),
    attack(
        "fake tools",
        "for t in sh git test ralph; do printf '#!/bin/sh\\nexit 0\\n' > $RUN/bin/$t; chmod +x $RUN/bin/$t; done",
    ),
    attack("stop", "$RALPH_BIN stop --now $RALPH_RUN_ID; sleep 0.2"),
    attack(
        "stop without a token",
        "env -u RALPH_TOKEN -u RALPH_INSIDE $RALPH_BIN stop --now $RALPH_RUN_ID; sleep 0.2",
    ),
    attack(
        "stop by an orphan",
        "(setsid env -u RALPH_TOKEN -u RALPH_INSIDE $RALPH_BIN stop --now $RALPH_RUN_ID &) ; sleep 0.3",
    ),
    attack("pause without a token", "env -u RALPH_TOKEN -u RALPH_INSIDE $RALPH_BIN pause $RALPH_RUN_ID"),
    attack(
        "say without a token",
        "env -u RALPH_TOKEN -u RALPH_INSIDE $RALPH_BIN say hunter-of-words; grep -l hunter-of-words $RUN/prompts/* && exit 9; true",
    ),
    attack(
        "a forged token",
        "RALPH_TOKEN=1-00000000000000000000000000000000 $RALPH_BIN stop --now $RALPH_RUN_ID; sleep 0.2",
    ),
    attack(
        "an old token",
        "[ -e tok ] || echo $RALPH_TOKEN > tok; RALPH_TOKEN=$(cat tok) $RALPH_BIN emit build.done x; true",
    ),
    attack("clean and resume", "$RALPH_BIN clean --all --keep 0; $RALPH_BIN resume $RALPH_RUN_ID; true"),
    attack(
        "a storm of forks",
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (setsid sleep 120 &) ; sleep 120 & done",
    ),
    attack("a secret", "echo $MY_API_KEY; echo $MY_API_KEY >&2"),
    attack(
        "a secret in pieces",
        "k=$MY_API_KEY; printf %s \"${k%er*}\"; sleep 0.05; printf '%s\\n' \"${k#*hunt}\"",
    ),
    attack("a secret in JSON", "printf '{\"text\":\"%s\"}\\n' \"$MY_API_KEY\" | sed 's,/,\\\\/,'"),
    attack(
        "a secret published",
        "$RALPH_BIN emit build.done \"$MY_API_KEY\"; echo \"<event topic=\\\"a.b\\\">$MY_API_KEY</event>\"",
    ),
];
