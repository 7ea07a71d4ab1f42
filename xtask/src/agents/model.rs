//! A model server on loopback that plays a script: real agent CLIs run against it without a key or a network.
//!
//! It speaks the four protocols the CLIs use, told apart by the path of the request. What the CLI asks does not matter:
//! each request of its main loop takes the next turn, over as many processes as ralph starts.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;
mod script;
mod tools;

pub use script::{Call, Script, Turn};

use self::http::{Request, Response};
use self::script::{Next, Tokens};
use crate::Result;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a CLI talks to its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

/// What the model says in one turn.
struct Answer {
    number: u64,
    model: String,
    text: String,
    calls: Vec<Invocation>,
    tokens: Tokens,
}

/// A call of one of the tools that the CLI offered.
struct Invocation {
    id: String,
    name: String,
    namespace: Option<String>,
    input: Input,
}

enum Input {
    Arguments(Value),
    /// The text of a tool that takes no arguments but a program.
    Program(String),
}

impl Invocation {
    fn arguments(&self) -> Value {
        match &self.input {
            Input::Arguments(arguments) => arguments.clone(),
            Input::Program(program) => json!({ "input": program }),
        }
    }
}

struct Shared {
    script: Mutex<Script>,
    log: Mutex<Vec<String>>,
    /// The questions that took a turn.
    asked: Mutex<Vec<Vec<u8>>>,
}

pub struct ModelServer {
    port: u16,
    shared: Arc<Shared>,
}

impl ModelServer {
    /// Serves until the program ends; a server costs a thread that sleeps.
    pub fn start(script: Script) -> Result<ModelServer> {
        let cannot = |error| format!("no model server: {error}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        let shared =
            Arc::new(Shared { script: Mutex::new(script), log: Mutex::default(), asked: Mutex::default() });
        let served = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&served);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Ok(ModelServer { port, shared })
    }

    /// Where Anthropic's and Google's clients look; OpenAI's add `/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Ends the limit that is in force.
    pub fn lift_limit(&self) {
        locked(&self.shared.script).lift_limit();
    }

    /// Turns of the script that were played.
    pub fn played(&self) -> usize {
        locked(&self.shared.script).played()
    }

    /// Which questions that took a turn have this text somewhere.
    pub fn heard(&self, text: &str) -> Vec<bool> {
        let heard = |body: &Vec<u8>| String::from_utf8_lossy(body).contains(text);
        locked(&self.shared.asked).iter().map(heard).collect()
    }

    /// One line for each request.
    pub fn log(&self) -> Vec<String> {
        locked(&self.shared.log).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request; the connection is closed behind its answer.
fn serve(stream: TcpStream, shared: &Shared) {
    // A client that says nothing must not keep a thread.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let Ok(Some(request)) = http::read(&stream) else { return };
    let (response, what) = answer(&request, shared);
    locked(&shared.log).push(format!("{} {}: {what}", request.method, request.path));
    // The client may be gone: killed in the middle, on purpose.
    let _ = http::write(&stream, &response);
}

fn answer(request: &Request, shared: &Shared) -> (Response, String) {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let path = request.path.split('?').next().unwrap_or_default();
    if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
        let count = request.body.len() / 4 + 1;
        return (Response::json(200, json!({"input_tokens": count, "totalTokens": count})), "count".into());
    }
    let Some((api, streamed)) = api_of(path, &body).filter(|_| request.method == "POST") else {
        return other(path);
    };
    let offered = tools::offered(api, &body);
    let next = match tools::shell(&offered) {
        // Titles, summaries and probes offer no shell: they take no turn.
        None => Next::Aside,
        Some(_) => locked(&shared.script).next(),
    };
    match next {
        Next::Limited { left } => (limited(api, left), format!("limit, {} s left", left.as_secs())),
        Next::Refused { status, retry_after, message } => {
            let error =
                json!({"type": "error", "error": {"type": "error", "message": message, "code": status}});
            (
                Response::json(status, error).header("retry-after", retry_after),
                format!("refused with {status}"),
            )
        }
        Next::Over => {
            (Response::json(400, json!({"error": {"message": "the script is over"}})), "over".into())
        }
        Next::Aside => (told(api, streamed, aside(api, &body)), "aside".into()),
        Next::Turn { number, turn, tokens } => {
            let (text, calls, is_cut) = match turn {
                Turn::Say { text, calls } => (text, calls, false),
                Turn::Cut(text) => (text, Vec::new(), true),
                Turn::Limit(_) | Turn::Refuse { .. } => unreachable!("no turn to say"),
            };
            let calls = calls.iter().enumerate().filter_map(|(index, call)| {
                tools::invocation(&offered, call, format!("call_{number}_{index}"))
            });
            let calls: Vec<Invocation> = calls.collect();
            locked(&shared.asked).push(request.body.clone());
            let what = format!("turn {number}, {} calls", calls.len());
            let model = model_of(path, &body);
            let torn = json!(text).to_string().trim_matches('"').to_owned();
            let response = told(api, streamed, Answer { number, model, text, calls, tokens });
            (if is_cut { response.cut_behind(&torn) } else { response }, what)
        }
    }
}

fn api_of(path: &str, body: &Value) -> Option<(Api, bool)> {
    let streamed = body["stream"].as_bool().unwrap_or(false);
    match path.rsplit('/').next().unwrap_or_default() {
        "messages" => Some((Api::Anthropic, streamed)),
        "completions" => Some((Api::Chat, streamed)),
        "responses" => Some((Api::Responses, streamed)),
        last if last.ends_with(":generateContent") => Some((Api::Gemini, false)),
        last if last.ends_with(":streamGenerateContent") => Some((Api::Gemini, true)),
        _ => None,
    }
}

/// The model that was asked: its own name, so that its price is known where it has one.
fn model_of(path: &str, body: &Value) -> String {
    let in_path = path.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(name, _)| name);
    body["model"].as_str().or(in_path).unwrap_or("model").to_owned()
}

fn aside(api: Api, body: &Value) -> Answer {
    let wants_json = body["generationConfig"]["responseMimeType"] == "application/json";
    let text = if api == Api::Gemini && wants_json {
        // Gemini asks which model suits the task, and whose turn it is.
        r#"{"reasoning":"short","model_choice":"flash","complexity_score":1,"complexity_reasoning":"short","next_speaker":"user"}"#
    } else {
        "A task"
    };
    Answer {
        number: 0,
        model: model_of("", body),
        text: text.into(),
        calls: Vec::new(),
        tokens: Tokens::default(),
    }
}

fn told(api: Api, streamed: bool, answer: Answer) -> Response {
    match (api, streamed) {
        (Api::Anthropic, true) => Response::events(anthropic::stream(&answer)),
        (Api::Anthropic, false) => Response::json(200, anthropic::whole(&answer)),
        (Api::Chat, true) => Response::events(chat::stream(&answer)),
        (Api::Chat, false) => Response::json(200, chat::whole(&answer)),
        (Api::Responses, true) => Response::events(responses::stream(&answer)),
        (Api::Responses, false) => Response::json(200, responses::whole(&answer)),
        (Api::Gemini, true) => Response::events(gemini::stream(&answer)),
        (Api::Gemini, false) => Response::json(200, gemini::whole(&answer)),
    }
}

fn limited(api: Api, left: Duration) -> Response {
    match api {
        Api::Anthropic => anthropic::limited(left),
        Api::Chat | Api::Responses => chat::limited(left),
        Api::Gemini => gemini::limited(left),
    }
}

/// Lists of models, and what nobody needs.
fn other(path: &str) -> (Response, String) {
    if !path.ends_with("/models") {
        return (
            Response::json(404, json!({"error": {"message": "no such thing here"}})),
            "not found".into(),
        );
    }
    let list = json!({"object": "list", "has_more": false, "models": [], "data": [
        {"id": "model", "object": "model", "type": "model", "display_name": "model", "created": 1_700_000_000}
    ]});
    (Response::json(200, list), "models".into())
}

/// Lines of server-sent events.
fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn script(turns: Vec<Turn>) -> ModelServer {
        ModelServer::start(Script::new(turns)).unwrap()
    }

    fn post(server: &ModelServer, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
        let body = body.to_string();
        write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn shell_of(api: Api) -> Value {
        let schema =
            json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
        match api {
            Api::Anthropic => json!([{"name": "Bash", "input_schema": schema}]),
            Api::Chat => json!([{"type": "function", "function": {"name": "shell", "parameters": schema}}]),
            Api::Responses => json!([{"type": "function", "name": "exec_command", "parameters": schema}]),
            Api::Gemini => {
                json!([{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": schema}]}])
            }
        }
    }

    #[test]
    fn every_protocol_carries_text_calls_and_tokens() {
        for (api, path, words) in [
            (Api::Anthropic, "/v1/messages", ["text_delta", "input_json_delta", "message_stop"]),
            (Api::Chat, "/v1/chat/completions", ["\"content\":\"hello", "tool_calls", "[DONE]"]),
            (Api::Responses, "/v1/responses", ["output_text", "function_call", "response.completed"]),
            (
                Api::Gemini,
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                ["\"text\":\"hello", "functionCall", "STOP"],
            ),
        ] {
            let server = script(vec![Turn::say("hello", vec![Call::Shell("ls -l".into())])]);
            let said = post(&server, path, &json!({"stream": true, "model": "m", "tools": shell_of(api)}));
            assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
            for word in words.iter().chain(&["ls -l", "3000", "40"]) {
                assert!(said.contains(word), "{api:?} has no {word}: {said}");
            }
            assert_eq!(server.played(), 1);
            assert_eq!((server.heard("stream"), server.heard("else")), (vec![true], vec![false]));
        }
    }

    #[test]
    fn a_request_without_a_shell_takes_no_turn_and_a_script_ends() {
        let server = script(vec![Turn::say("hello", Vec::new())]);
        let title = post(&server, "/v1/messages", &json!({"model": "m"}));
        assert!(title.contains("A task") && !title.contains("hello"), "{title}");
        let ask = json!({"model": "m", "tools": shell_of(Api::Anthropic)});
        assert!(post(&server, "/v1/messages", &ask).contains("hello"));
        assert!(post(&server, "/v1/messages", &ask).starts_with("HTTP/1.1 400 "));
        assert_eq!(server.log().len(), 3, "{:?}", server.log());
    }

    #[test]
    fn a_stream_breaks_behind_its_text() {
        let server = script(vec![Turn::Cut("half of it".into())]);
        let ask = json!({"stream": true, "model": "m", "tools": shell_of(Api::Chat)});
        let said = post(&server, "/v1/chat/completions", &ask);
        assert!(said.contains("half of it") && !said.contains("[DONE]"), "{said}");
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        let announced = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        assert!(announced.parse::<usize>().unwrap() > body.len(), "nobody could see that it was cut");
    }

    #[test]
    fn a_limit_holds_until_it_is_over() {
        let server = script(vec![Turn::Limit(Duration::from_secs(3600)), Turn::say("back", Vec::new())]);
        for (api, path) in [(Api::Anthropic, "/v1/messages"), (Api::Responses, "/v1/responses")] {
            let said = post(&server, path, &json!({"model": "m", "tools": shell_of(api)}));
            assert!(said.starts_with("HTTP/1.1 429 ") && said.contains("limit"), "{said}");
        }
        server.lift_limit();
        let said = post(&server, "/v1/messages", &json!({"model": "m", "tools": shell_of(Api::Anthropic)}));
        assert!(said.contains("back"), "{said}");
    }
}
