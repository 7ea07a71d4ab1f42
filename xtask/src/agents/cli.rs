//! The CLIs that are run for real: where they come from, and what they need to talk to the model server instead of
//! theirs. A user needs none of these settings; ralph adds the rest by itself.

use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Clone, Copy)]
pub struct Cli {
    /// As ralph calls it; also the name of its program.
    pub name: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    pub needs_node: bool,
    pub tokens: Tokens,
    /// Its stream says how commands ended.
    pub exit_codes: bool,
    /// It says somewhere where ralph can hear it that it waits for a limit.
    pub tells_waits: bool,
    /// The key `agent.model`.
    pub model: Option<&'static str>,
    /// The key `agent.args`.
    pub args: fn(&Place) -> Vec<String>,
    pub env: fn(&Place) -> Vec<(&'static str, String)>,
    /// Files in the home folder.
    pub files: fn(&Place) -> Vec<(&'static str, String)>,
    /// To run once before: the arguments of the CLI itself.
    pub prepare: fn(&Place) -> Vec<String>,
}

/// What its stream says of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// Cached ones apart.
    Split,
    /// Cached ones among the others.
    Summed,
    None,
}

/// Where a CLI runs.
pub struct Place {
    pub home: PathBuf,
    /// The model server, without a path.
    pub url: String,
}

impl Place {
    fn openai(&self) -> String {
        format!("{}/v1", self.url)
    }

    fn home(&self, name: &str) -> String {
        self.home.join(name).display().to_string()
    }
}

/// copilot hides its key wherever it occurs, so it must be a word that occurs nowhere else.
const KEY: &str = "sk-0000-loopback";
const MODEL: &str = "script-model";

const PLAIN: Cli = Cli {
    name: "",
    package: "",
    version: "",
    needs_node: false,
    tokens: Tokens::Split,
    exit_codes: true,
    tells_waits: true,
    model: None,
    args: |_| Vec::new(),
    env: |_| Vec::new(),
    files: |_| Vec::new(),
    prepare: |_| Vec::new(),
};

pub const CLIS: &[Cli] = &[
    Cli {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        model: Some("claude-sonnet-4-5"),
        env: |place| {
            vec![
                ("ANTHROPIC_BASE_URL", place.url.clone()),
                ("ANTHROPIC_API_KEY", KEY.into()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ]
        },
        ..PLAIN
    },
    Cli {
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        env: |place| vec![("CODEX_HOME", place.home("codex")), ("SCRIPT_API_KEY", KEY.into())],
        files: |place| vec![("codex/config.toml", codex(place))],
        ..PLAIN
    },
    Cli {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        env: |place| {
            vec![
                ("XDG_CONFIG_HOME", place.home(".config")),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".into()),
            ]
        },
        files: |place| vec![(".config/opencode/opencode.json", opencode(place).to_string())],
        ..PLAIN
    },
    Cli {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        needs_node: true,
        exit_codes: false,
        model: Some("gemini-2.5-flash"),
        env: |place| vec![("GEMINI_API_KEY", KEY.into()), ("GOOGLE_GEMINI_BASE_URL", place.url.clone())],
        files: |_| vec![(".gemini/settings.json", google("gemini-api-key").to_string())],
        ..PLAIN
    },
    Cli {
        name: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        needs_node: true,
        model: Some(MODEL),
        env: |place| vec![("OPENAI_API_KEY", KEY.into()), ("OPENAI_BASE_URL", place.openai())],
        args: |_| vec!["--auth-type".into(), "openai".into()],
        files: |_| vec![(".qwen/settings.json", google("openai").to_string())],
        ..PLAIN
    },
    Cli {
        name: "pi",
        package: "@earendil-works/pi-coding-agent",
        version: "0.87.1",
        needs_node: true,
        model: Some(MODEL),
        env: |_| vec![("PI_OFFLINE", "1".into()), ("PI_TELEMETRY", "0".into())],
        args: |_| vec!["--provider".into(), "script".into()],
        files: |place| vec![(".pi/agent/models.json", pi(place).to_string())],
        ..PLAIN
    },
    Cli {
        name: "goose",
        package: "@aaif/goose",
        version: "0.20.1",
        tokens: Tokens::Summed,
        tells_waits: false,
        model: Some(MODEL),
        env: |place| {
            vec![
                ("XDG_CONFIG_HOME", place.home(".config")),
                ("GOOSE_PROVIDER", "openai".into()),
                ("OPENAI_HOST", place.url.clone()),
                ("OPENAI_API_KEY", KEY.into()),
                ("GOOSE_DISABLE_KEYRING", "1".into()),
                ("GOOSE_TELEMETRY_ENABLED", "false".into()),
            ]
        },
        files: |_| vec![(".config/goose/config.yaml", GOOSE.into())],
        ..PLAIN
    },
    Cli {
        name: "copilot",
        package: "@github/copilot",
        version: "1.0.102",
        needs_node: true,
        tokens: Tokens::None,
        model: Some(MODEL),
        env: |place| {
            vec![
                ("COPILOT_PROVIDER_BASE_URL", place.openai()),
                ("COPILOT_PROVIDER_TYPE", "openai".into()),
                ("COPILOT_PROVIDER_API_KEY", KEY.into()),
                ("COPILOT_OFFLINE", "true".into()),
                ("COPILOT_HOME", place.home(".copilot")),
            ]
        },
        ..PLAIN
    },
    Cli {
        name: "kimi",
        package: "@moonshot-ai/kimi-code",
        version: "2.1.0",
        needs_node: true,
        exit_codes: false,
        tokens: Tokens::None,
        files: |place| vec![(".kimi-code/config.toml", kimi(place))],
        ..PLAIN
    },
    Cli {
        name: "cline",
        package: "cline",
        version: "3.0.65",
        model: Some(MODEL),
        args: |place| {
            let words = ["--data-dir", &place.home("cline"), "-P", "openai-compatible"];
            words.map(str::to_owned).to_vec()
        },
        prepare: |place| {
            let (data, url) = (place.home("cline"), place.openai());
            let words =
                ["auth", "-p", "openai-compatible", "-k", KEY, "-m", MODEL, "-b", &url, "--data-dir", &data];
            words.map(str::to_owned).to_vec()
        },
        ..PLAIN
    },
];

fn codex(place: &Place) -> String {
    format!(
        r#"model = "gpt-6.1-sol"
model_provider = "script"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
apps = false
[model_providers.script]
name = "script"
base_url = "{}"
env_key = "SCRIPT_API_KEY"
wire_api = "responses"
"#,
        place.openai()
    )
}

fn opencode(place: &Place) -> Value {
    let model = json!({"name": MODEL, "limit": {"context": 200_000, "output": 8192},
        "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "script",
        "options": {"baseURL": place.openai(), "apiKey": KEY}, "models": {MODEL: model}});
    json!({"autoupdate": false, "share": "disabled", "model": format!("script/{MODEL}"),
        "small_model": format!("script/{MODEL}"), "provider": {"script": provider}})
}

/// Settings of gemini, and of qwen which comes from it. qwen's memory would ask the model on its own.
fn google(auth: &str) -> Value {
    json!({"security": {"auth": {"selectedType": auth}, "folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false}})
}

fn pi(place: &Place) -> Value {
    let model = json!({"id": MODEL, "name": MODEL, "reasoning": false, "input": ["text"],
        "contextWindow": 200_000, "maxTokens": 8192,
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}});
    json!({"providers": {"script": {"baseUrl": place.openai(), "api": "openai-completions", "apiKey": KEY,
        "models": [model]}}})
}

const GOOSE: &str = "extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
";

fn kimi(place: &Place) -> String {
    format!(
        r#"default_model = "script"
telemetry = false
[providers.script]
type = "openai"
base_url = "{}"
api_key = "{KEY}"
[models.script]
provider = "script"
model = "{MODEL}"
max_context_size = 200000
"#,
        place.openai()
    )
}
