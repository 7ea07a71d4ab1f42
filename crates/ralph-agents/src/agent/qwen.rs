//! Qwen Code: the stream of Claude Code in a dialect. After a broken stream it joins the torn text to the next one; its
//! partial messages tell where that begins, so it is always asked for them.

use super::claude::{Claude, Dialect};
use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, BaseUrl, StreamFacts, Told, ToolResults};
use crate::failure::class::status_in;
use crate::signal::AgentSignal;
use crate::stream::{LineDialogue, text};

pub(super) const DEF: AgentDef = AgentDef {
    name: "qwen",
    file_names: &["qwen"],
    summary: "Qwen Code.",
    folders: &["~/.qwen/"],
    hosts: &["chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"],
    base_urls: &[BaseUrl {
        key: "OPENAI_API_KEY",
        variable: "OPENAI_BASE_URL",
        usual: "https://api.openai.com/v1",
    }],
    stream: StreamFacts {
        format: "qwen-stream-json",
        end_event: true,
        answered: false,
        tokens: Told::AsItGoes,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "qwen",
        flags: &[
            Flag::strict("--output-format", "stream-json", &["-o"]),
            Flag::plain("--include-partial-messages", &[]),
        ],
        bypass: &[Flag::plain("--yolo", &["-y", "--approval-mode"])],
        bypass_env: &[("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")],
        model: Model::Flag("--model", &["-m"]),
        prompt: Prompt::Stdin,
        // Without it a `retry-after` of an hour is sat out in silence; with it stderr says how long it takes.
        env: &[("QWEN_CODE_UNATTENDED_RETRY", "1")],
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Claude::new(&QWEN)),
};

const QWEN: Dialect =
    Dialect { input_includes_cached: true, output_in_delta: false, exit_code, stderr: retry };

/// "Exit Code: 101" on a line of its own, behind what the command printed.
fn exit_code(output: &str) -> Option<i64> {
    output.lines().rev().find_map(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok())
}

/// "[qwen-code] Waiting for API capacity... attempt 1, retry in 3570s", every half a minute. It does so for 429 and 529.
fn waiting(line: &str) -> Option<AgentSignal> {
    let rest = line.strip_prefix("[qwen-code] Waiting for API capacity... attempt ")?;
    let (attempt, delay) = rest.split_once(", retry in ")?;
    let delay_ms = delay.trim_end().strip_suffix('s')?.parse::<u64>().ok()?.checked_mul(1000);
    let reason = "no API capacity (429)".to_owned();
    Some(AgentSignal::Retry { attempt: attempt.parse().ok(), max: None, delay_ms, http: Some(429), reason })
}

/// "Retrying in 60s (attempt 1/10): [API Error: 429 …]". The notice on stdout has no status and no reason.
fn retry(line: &str, out: &mut Vec<AgentSignal>) -> bool {
    if let Some(signal) = waiting(line) {
        out.push(signal);
        return true;
    }
    let Some((delay, rest)) =
        line.strip_prefix("Retrying in ").and_then(|rest| rest.split_once("s (attempt "))
    else {
        return false;
    };
    let Some((count, reason)) = rest.split_once("): ") else { return false };
    let (attempt, max) = count.split_once('/').unwrap_or((count, ""));
    out.push(AgentSignal::Retry {
        attempt: attempt.parse().ok(),
        max: max.parse().ok(),
        delay_ms: delay.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1000)),
        http: status_in(reason),
        reason: text::message(reason),
    });
    true
}
