//! What an agent leaves behind.

/// A piece of a shell script. `$S` is a command that sleeps for a day and can be told from all others.
pub struct Kind {
    pub name: &'static str,
    escape: &'static str,
}

pub const KINDS: &[Kind] = &[
    Kind { name: "child that ignores signals", escape: "(trap '' TERM INT HUP; exec $S) &" },
    Kind { name: "nohup", escape: "nohup $S > /dev/null 2>&1 &" },
    Kind { name: "own session", escape: "setsid $S &" },
    Kind { name: "orphan", escape: "( ($S &) & )" },
    Kind {
        name: "daemon",
        escape: "( (setsid sh -c \"trap '' TERM INT HUP; $S & $S & wait\" < /dev/null > /dev/null 2>&1 &) & )",
    },
    Kind {
        name: "daemon that kills its guard",
        escape: "( (setsid sh -c \"kill -9 $PPID; $S & wait\" < /dev/null > /dev/null 2>&1 &) & ); kill -9 $PPID",
    },
    Kind { name: "stops its guard", escape: "( (setsid $S &) & ); kill -STOP $PPID" },
    Kind { name: "own process group", escape: "set -m; $S & set +m" },
    Kind { name: "hops from session to session", escape: "cp hop.sh hop; HOPS=200 setsid sh ./hop.sh &" },
    Kind {
        name: "without an environment",
        escape: "( (env -i setsid $S < /dev/null > /dev/null 2>&1 &) & )",
    },
    Kind {
        name: "crowd that comes again",
        escape: "for n in 1 2 3 4 5; do (trap '' TERM; m=0; while [ $m -lt 50 ]; do m=$((m+1)); $S; done) & setsid $S & done",
    },
];

/// The agent: it escapes, says that it is up, and ends or does not.
pub fn script(kind: &Kind, ends: bool) -> String {
    let hop = r#"cat > hop.sh <<'HOP'
[ "$HOPS" -gt 0 ] || exec sleep "100000.$D"
HOPS=$((HOPS-1)); export HOPS; sleep 0.02; setsid sh ./hop.sh & exit 0
HOP"#;
    let hop = if kind.escape.contains("hop.sh") { hop } else { "" };
    let escape = kind.escape.replace("cp hop.sh hop; ", "");
    let end = if ends { "exit 0" } else { "trap '' TERM INT; while :; do sleep 1; done" };
    // `tr` makes the same of the token as `digits` does.
    format!(
        "cat > /dev/null\nD=$(printf %s \"$ESCAPER\" | tr -c 0-9 0); export D\nS=\"sleep 100000.$D\"\n{hop}\n{escape}\n\
         echo up > up\n{end}\n"
    )
}
