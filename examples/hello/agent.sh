#!/bin/sh
# A stand-in for a coding agent: it does one piece of work per run and says when all is done.
cat >/dev/null # the prompt
work="${TMPDIR:-/tmp}/ralph-hello-$RALPH_RUN_ID"
echo "greeting $RALPH_ITERATION" >>"$work"
echo "wrote greeting $RALPH_ITERATION of 3"
if [ "$(wc -l <"$work")" -ge 3 ]; then
    rm "$work"
    echo "<ralph>COMPLETE</ralph>"
fi
