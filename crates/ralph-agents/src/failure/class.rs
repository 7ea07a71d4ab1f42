//! The class of an error: from its HTTP status and error code, then from its message.
//!
//! Only error messages come here, never what an agent or a tool merely says.

use std::sync::LazyLock;

use regex::Regex;

use crate::signal::FailureClass::{self, *};

/// Phrases and error codes in lower case, the first match decides. The order matters: a text about a usage limit may
/// advise to buy credits, and a stream may break because of a limit.
const PHRASES: &[(FailureClass, &[&str])] = &[
    (
        ContextTooLong,
        &[
            "context_length_exceeded",
            "contextoverflow",
            "context_overflow",
            "contextwindowexceeded",
            "prompt is too long",
            "prompt as too long",
            "prompt_too_long",
            "input is too long",
            "input_too_large",
            "maximum context length",
            "exceeds the context window",
            "exceed the context window",
            "exceeds the maximum number of tokens",
            "exceed context limit",
            "context limit still exceeded",
            "context limit reached",
            "context window is full",
            "ran out of room in the model's context window",
            "request_too_large",
        ],
    ),
    // Google words every quota like a bill. Its quotas come back by themselves.
    (
        Limit,
        &[
            "quota exceeded for metric",
            "quota exceeded for quota metric",
            "gemini-api/docs/rate-limits",
            "requests_per_minute",
            "exhausted your capacity",
            "exhausted your daily quota",
            "quota will reset",
        ],
    ),
    (Outage, &["no capacity available", "model_capacity_exhausted"]),
    (
        Limit,
        &[
            "usage limit",
            "usage_limit_reached",
            "user_weekly_rate_limited",
            "session limit",
            "weekly limit",
            "hour limit reached",
            "hit your limit",
            "hit a rate limit",
            "rate limit reached",
            "rate limit exceeded: free-models",
            "limit will reset",
            "freeusagelimiterror",
        ],
    ),
    (
        Billing,
        &[
            "credit balance",
            "insufficient_quota",
            "credits_exhausted",
            "insufficient credits",
            "insufficient balance",
            "insufficient funds",
            "insufficient_balance",
            "out of credits",
            "requires more credits",
            "check your plan and billing",
            "payment required",
            "payment_required",
            "billing_hard_limit",
            "billing_not_active",
            "billing_error",
            "account is not active",
            "add a payment method",
            "add funds",
            "no active subscription",
            "creditserror",
            "out of extra usage",
            "premium request allowance",
            "overdue-payment",
            "account is in good standing",
        ],
    ),
    (
        Limit,
        &[
            "rate_limit",
            "rate limit",
            "rate-limit",
            "ratelimit",
            "too many requests",
            "throttlingexception",
            "throttled",
            "resource_exhausted",
            "resource has been exhausted",
            "resource exhausted",
            "quota exceeded",
            "exceeded your current quota",
            "too many tokens, please wait",
        ],
    ),
    (
        ModelNotFound,
        &[
            "model_not_found",
            "modelnotfound",
            "model not found",
            "unknown model",
            "invalid model",
            "issue with the selected model",
            "model is not supported",
            "is not supported when using codex",
            "is not found for api version",
            "requested model is not available",
            "this model is only supported in",
        ],
    ),
    (
        SignIn,
        &[
            "authentication_error",
            "authenticationerror",
            "authentication_failed",
            "authentication failed",
            "authentication error",
            "auth_error",
            "unauthenticated",
            "unauthorized",
            "invalid api key",
            "invalid_api_key",
            "invalid x-api-key",
            "incorrect api key",
            "api key not valid",
            "api key not found",
            "no api key",
            "missing api key",
            "api_key_invalid",
            "missing environment variable",
            "not logged in",
            "please run /login",
            "please log in",
            "login required",
            "sign in again",
            "token has expired",
            "token expired",
            "session has expired",
            "refresh token",
            "oauth token revoked",
            "set an auth method",
            "does not have access to claude",
            "organization has been disabled",
            "permission_error",
            "permission_denied",
            "permissiondenied",
        ],
    ),
    (
        Outage,
        &[
            "overloaded",
            "internal server error",
            "internalservererror",
            "serviceunavailable",
            "apiconnectionerror",
            "internal_error",
            "server error",
            "server_error",
            "high demand",
            "bad gateway",
            "service unavailable",
            "temporarily unavailable",
            "gateway timeout",
            "gateway time-out",
            "upstream connect error",
            "econnrefused",
            "econnreset",
            "etimedout",
            "enotfound",
            "eai_again",
            "epipe",
            "connection_failed",
            "connection refused",
            "connection reset",
            "connection failed",
            "connection error",
            "connection closed",
            "unable to connect",
            "could not connect",
            "cannot connect",
            "fetch failed",
            "error sending request",
            "socket hang up",
            "network error",
            "waiting for network",
            "stream disconnected",
            "stream closed",
            "premature close",
            "idle timeout",
            "request timed out",
            "request timeout",
            "timed out",
            "api error: terminated",
            "dns error",
        ],
    ),
];

/// The class of an error. `code` is the error's own code or type, where the CLI has one.
pub fn class_of(http: Option<u16>, code: &str, message: &str) -> FailureClass {
    let text = normal(&format!("{code} {message}"));
    if let Some(class) = by_phrase(&text) {
        return class;
    }
    if model_missing(&text) {
        return ModelNotFound;
    }
    http.or_else(|| status_in(&text)).and_then(by_status).unwrap_or(Other)
}

fn by_phrase(text: &str) -> Option<FailureClass> {
    PHRASES
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)))
        .map(|(class, _)| *class)
}

fn by_status(status: u16) -> Option<FailureClass> {
    match status {
        401 | 403 => Some(SignIn),
        402 => Some(Billing),
        408 | 500..=599 => Some(Outage),
        413 => Some(ContextTooLong),
        429 => Some(Limit),
        _ => None,
    }
}

/// "The model `x` does not exist", in its many forms.
fn model_missing(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"models?\b.{0,80}\b(does not exist|not exist|not found|not available|is not supported)|not_found_error.{0,40}model").ok()
    });
    PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// An HTTP status named in a message: "status: 429", "HTTP 401", "API Error: 529", "(500)", "429 …", `"code":503`.
pub fn status_in(message: &str) -> Option<u16> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?i)(?:^\s*|status(?: code)?[:= ]+|http[ /]+|api error[: (]+|error[: (]+|\(|rejected \(|code\\?"?[:= ]+)([45]\d\d)\b"#,
        )
        .ok()
    });
    let found = PATTERN.as_ref()?.captures(message)?;
    found.get(1)?.as_str().parse().ok()
}

/// Lower case, with plain apostrophes.
fn normal(text: &str) -> String {
    text.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_status_where_it_is_named_and_not_elsewhere() {
        for (text, want) in [
            ("exceeded retry limit, last status: 429 Too Many Requests", Some(429)),
            ("API Error: 529 Overloaded", Some(529)),
            ("[API Error: 401 mock: invalid x-api-key]", Some(401)),
            ("API Error: Request rejected (429) · later", Some(429)),
            ("{\"error\":{\"code\":503,\"message\":\"x\"}}", Some(503)),
            ("500: {\"message\":\"x\"}", Some(500)),
            ("Server error (502 Bad Gateway)", Some(502)),
            ("prompt is 500 tokens long", None),
            ("250000 tokens", None),
            ("line 401", None),
        ] {
            assert_eq!(status_in(text), want, "{text}");
        }
    }

    #[test]
    fn status_decides_when_the_words_do_not() {
        assert_eq!(class_of(Some(429), "", "please slow down"), Limit);
        assert_eq!(class_of(Some(503), "", "x"), Outage);
        assert_eq!(class_of(Some(403), "", "x"), SignIn);
        assert_eq!(class_of(Some(402), "", "x"), Billing);
        assert_eq!(class_of(Some(400), "", "x"), Other);
        assert_eq!(class_of(None, "", "x"), Other);
    }
}
