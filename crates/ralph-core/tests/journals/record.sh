#!/bin/sh
# Records a journal with everything in it that reads text: record.sh PATH-OF-RALPH OUT.jsonl
set -eu
here=/tmp/ralph-journal
ralph=$(realpath "$1")
out=$(realpath -m "$2")
rm -rf "$here"
mkdir -p "$here/work" "$here/bin"
cat > "$here/bin/claude" <<'AGENT'
#!/bin/sh
cat > /dev/null
echo x >> /tmp/ralph-journal/launches
n=$(wc -l < /tmp/ralph-journal/launches | tr -d ' ')
say() { printf '{"type":"assistant","message":{"id":"m%s%s","content":[{"type":"text","text":"%s"}]}}\n' "$n" "$2" "$1"; }
tool() {
  printf '{"type":"assistant","message":{"id":"t%s%s","content":[{"type":"tool_use","id":"%s%s","name":"Bash","input":{"command":"%s"}}]}}\n' "$n" "$1" "$1" "$n" "$2"
  printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"%s%s","is_error":%s,"content":"%s"}]}}\n' "$1" "$n" "$3" "$4"
}
end() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$1"; }
case $n in
1) tool a 'cargo test' true 'Exit code 101\ntest result: FAILED. 1 passed; 1 failed'; echo 1 > src1.rs
   say 'Moved load_ledger into src1.rs.' a; end 'Moved load_ledger.\n<event topic=\"review.ask\">look</event>' ;;
2) tool a 'cargo test' true 'Exit code 101\ntest result: FAILED. 1 passed; 1 failed'; end 'Reviewed the ledger.\n<ralph>COMPLETE</ralph>' ;;
3) tool a 'cargo test' false 'test result: ok. 2 passed; 0 failed'; tool b 'npm run lint | tail' false 'fine'; end 'All of the ledger passes.\n<ralph>COMPLETE</ralph>' ;;
*) tool a 'make check' true 'src/orbit.c:14: error: tally_orbit undeclared'; end 'make check fails: src/orbit.c:14: error: tally_orbit undeclared' ;;
esac
AGENT
chmod +x "$here/bin/claude"
cat > "$here/work/ralph.yml" <<'DEFINITION'
event_loop: {max_iterations: 12}
stop: {require_passing_tests: true}
gates:
  - {name: never, run: "false"}
hats:
  worker: {triggers: [task.start, review.no, review.idle], publishes: [review.ask], default_publishes: review.ask, instructions: Work.}
  reviewer: {triggers: [review.ask], publishes: [review.no], default_publishes: review.no, instructions: Review.}
DEFINITION
cd "$here/work"
export RALPH_STATE_DIR="$here/state" HOME="$here"
"$ralph" run -p "the task" -a ../bin/claude || true
"$ralph" say 'Read the header.'
"$ralph" resume || true
"$ralph" replay --verify
cp "$here"/state/runs/*/journal.jsonl "$out"
