//! What a request may ask of a provider: an answer to what it holds, and nothing that the provider would do elsewhere for
//! a program whose own network is closed. Fields and kinds of tools are lists of what is known; what is not in them is
//! refused by its name. Never changes a request: what was looked at is what is sent, byte for byte.

mod unique;

use serde_json::{Map, Value};

use self::unique::Unique;

/// Which request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Anthropic Messages, and the counting of their tokens.
    Messages,
    /// Chat completions.
    Completions,
    /// Responses.
    Responses,
    /// A conversation of responses made shorter.
    Compact,
}

/// What a provider may be asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerTools {
    /// To answer.
    #[default]
    Refused,
    /// Whatever it offers: to search, to fetch, to run code, to speak to others.
    Allowed,
}

/// The request as it was read, if it may be passed on; else what is wrong with it.
pub(super) fn read(body: &[u8]) -> Result<Value, String> {
    // Of a key that is there twice, one reader takes the first and another one the last.
    match serde_json::from_slice(body) {
        Ok(Unique(asked @ Value::Object(_))) => Ok(asked),
        Ok(_) => Err("the request is not a JSON object".to_owned()),
        Err(error) => Err(format!("the request is not one JSON object: {error}")),
    }
}

/// Whether a provider has only to answer.
///
/// # Errors
/// What it would have to do besides.
pub(super) fn check(form: Form, asked: &Value) -> Result<(), String> {
    let Value::Object(fields) = asked else { return Ok(()) };
    let known = match form {
        Form::Messages => MESSAGES,
        Form::Completions => COMPLETIONS,
        Form::Responses | Form::Compact => RESPONSES,
    };
    // Nothing is what a field that is left out says.
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        match (name.as_str(), value) {
            ("tools", tools) => check_tools(tools, "tools")?,
            ("store" | "background", Value::Bool(false)) => {}
            ("model", model) => check_model(model)?,
            ("input", Value::Array(items)) if items.iter().any(is_kept) => {
                return Err(refused("item_reference"));
            }
            ("messages" | "input" | "system", said) => check_said(said, name)?,
            _ if known.contains(&name.as_str()) => {}
            _ => return Err(refused(name)),
        }
    }
    // Left out it is true.
    match (form, fields.get("store")) {
        (Form::Responses, None | Some(Value::Null)) => {
            Err("`store` has to be false: the model service has nothing kept by a provider".into())
        }
        _ => Ok(()),
    }
}

/// Some models search whatever they are asked.
fn check_model(model: &Value) -> Result<(), String> {
    let searches = |name: &str| {
        name.contains("-search") || name.contains("deep-research") || name.ends_with(":online")
    };
    match model.as_str().is_some_and(searches) {
        true => Err(refused("model")),
        false => Ok(()),
    }
}

/// Tools whose calls the client does.
fn check_tools(tools: &Value, path: &str) -> Result<(), String> {
    let Value::Array(tools) = tools else { return Err(format!("`{path}` is not a list")) };
    for (number, tool) in tools.iter().enumerate() {
        let path = format!("{path}[{number}]");
        let Value::Object(tool) = tool else { return Err(format!("`{path}` is not a tool")) };
        let is_known = match tool.get("type") {
            None | Some(Value::Null) => true,
            Some(Value::String(kind)) => is_of_client(kind),
            Some(_) => false,
        };
        // A shell is one of the provider's unless it says that it is not.
        let is_here = |place: &Value| place.is_null() || text(place, "type") == Some("local");
        if !is_known || !tool.get("environment").is_none_or(is_here) {
            let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
            return Err(refused(&format!("{path} of type {}", shortened(kind))));
        }
        if let Some(of_group) = tool.get("tools") {
            check_tools(of_group, &format!("{path}.tools"))?;
        }
    }
    Ok(())
}

fn is_of_client(kind: &str) -> bool {
    CLIENT_TOOLS.contains(&kind)
        || DATED_CLIENT_TOOLS.iter().any(|tool| {
            let date = kind.strip_prefix(tool);
            date.is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()))
        })
}

/// A part of the conversation: it holds what it is about, and names nothing that the provider would have to get.
fn check_said(said: &Value, path: &str) -> Result<(), String> {
    match said {
        Value::Array(parts) => {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(number, part)| check_said(part, &format!("{path}[{number}]")))
        }
        Value::Object(part) => check_part(part, path),
        _ => Ok(()),
    }
}

/// An item that stands for one which a provider kept. Its kind may be left out.
fn is_kept(item: &Value) -> bool {
    match text(item, "type") {
        Some(kind) => kind == "item_reference",
        None => item.is_object() && text(item, "role").is_none(),
    }
}

fn check_part(part: &Map<String, Value>, path: &str) -> Result<(), String> {
    let kind = part.get("type").and_then(Value::as_str);
    for (name, value) in part.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("{path}.{}", shortened(name));
        // Some servers read a name however it is written.
        let name = name.to_ascii_lowercase();
        let is_address = name == "url" || name.ends_with("_url");
        match (name.as_str(), value) {
            // What a model wrote for a tool of the client's.
            ("input", _) if kind.is_some_and(|kind| kind.ends_with("tool_use")) => {}
            ("arguments", _) => {}
            ("tools", tools) => check_tools(tools, &path)?,
            (name, _) if ELSEWHERE.contains(&name) => return Err(refused(&path)),
            (_, Value::String(at)) if is_address && !at.starts_with("data:") => {
                return Err(refused(&path));
            }
            ("file_data", Value::String(data)) if data.contains("://") => {
                return Err(refused(&path));
            }
            _ => check_said(value, &path)?,
        }
    }
    Ok(())
}

fn refused(what: &str) -> String {
    format!(
        "`{}` is not passed on: with it the provider could reach or keep what this cage cannot; the operator allows it by \
         `server_tools = true` in `models.toml`",
        shortened(what)
    )
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn shortened(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MOST_NAMED).collect()
}

const MESSAGES: &[&str] = &[
    "betas",
    "cache_control",
    "context_management",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "metadata",
    "output_config",
    "output_format",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "temperature",
    "thinking",
    "tool_choice",
    "top_k",
    "top_p",
];

/// Those of servers that others write are among them, as far as they ask for an answer only.
const COMPLETIONS: &[&str] = &[
    "enable_thinking",
    "frequency_penalty",
    "function_call",
    "functions",
    "include_reasoning",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "min_p",
    "modalities",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "reasoning_effort",
    "repetition_penalty",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "thinking",
    "tool_choice",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
];

const RESPONSES: &[&str] = &[
    "client_metadata",
    "context_management",
    "include",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// A search among tools looks at those of the request.
const CLIENT_TOOLS: &[&str] = &[
    "apply_patch",
    "computer",
    "computer_use_preview",
    "custom",
    "function",
    "local_shell",
    "namespace",
    "shell",
    "tool_search",
];
const DATED_CLIENT_TOOLS: &[&str] = &[
    "bash_",
    "computer_",
    "memory_",
    "text_editor_",
    "tool_search_tool_bm25_",
    "tool_search_tool_regex_",
];

/// What a provider has, or gets from somewhere.
const ELSEWHERE: &[&str] = &[
    "connector_id",
    "container",
    "container_id",
    "file_id",
    "file_ids",
    "mcp_servers",
    "vector_store_ids",
];
const MOST_NAMED: usize = 100;

#[cfg(test)]
mod tests;
