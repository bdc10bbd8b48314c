//! What agents send passes; what has a provider act elsewhere is refused by its name. V31, T45.

use serde_json::{Value, json};

use super::{Form, check, read};

const FORMS: [Form; 4] = [Form::Messages, Form::Completions, Form::Responses, Form::Compact];

/// A request of a form that is right, with more fields.
fn with(form: Form, more: &Value) -> Value {
    let mut asked = match form {
        Form::Messages | Form::Completions => json!({ "model": "m", "messages": [] }),
        Form::Responses | Form::Compact => json!({ "model": "m", "input": "x", "store": false }),
    };
    let (Value::Object(fields), Value::Object(more)) = (&mut asked, more.clone()) else {
        return Value::Null;
    };
    fields.extend(more);
    asked
}

#[track_caller]
fn passes(form: Form, more: &Value) {
    assert_eq!(check(form, &with(form, more)), Ok(()), "{more}");
}

#[track_caller]
fn refuses(form: Form, more: &Value, named: &str) {
    let why = check(form, &with(form, more)).expect_err(&more.to_string());
    assert!(why.contains(named), "{why}");
}

#[test]
fn a_request_is_one_object_with_every_key_once() {
    for no in
        ["", "[]", "\0", "null", "{}{}", "{", r#"{"a":1,"a":1}"#, r#"{"a":{"b":1,"\u0062":2}}"#]
    {
        assert!(read(no.as_bytes()).is_err(), "{no}");
    }
    assert!(read(b"{\"a\": \"\xff\"}").is_err());
    assert!(read("[".repeat(100_000).as_bytes()).is_err());
    let text = r#"{"a": [1, -2, 0.5, true, null, "b\u00e9", {"c": {}}], "d": "e"}"#;
    assert_eq!(read(text.as_bytes()).ok(), serde_json::from_str(text).ok());
}

/// As `claude` 2.1, `codex` 0.169 and our own clients send them.
#[test]
fn what_agents_send_passes() {
    let schema = json!({ "type": "object", "properties": {
        "url": { "type": "string" }, "file_id": { "type": "string" }, "tools": { "type": "mcp" } } });
    passes(
        Form::Messages,
        &json!({
            "system": [{ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "see https://example.org" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "", "signature": "s" },
                    { "type": "tool_use", "id": "t", "name": "WebFetch", "input": {
                        "url": "https://example.org", "file_id": "a", "source": { "type": "url" } } }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": [
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } },
                    { "type": "tool_reference", "tool_name": "Read" }] }] },
            ],
            "tools": [
                { "name": "WebFetch", "description": "x", "input_schema": schema },
                { "type": "custom", "name": "web_search", "input_schema": schema },
                { "type": "bash_20250124", "name": "bash" },
                { "type": "text_editor_20250728", "name": "str_replace_based_edit_tool" },
                { "type": "computer_20250124", "name": "computer" },
                { "type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex" },
            ],
            "tool_choice": { "type": "auto" }, "metadata": { "user_id": "{}" }, "max_tokens": 64000,
            "thinking": { "type": "adaptive" }, "output_config": { "effort": "high" }, "stream": true,
            "context_management": { "edits": [{ "type": "clear_thinking_20251015", "keep": "all" }] },
            "container": null, "mcp_servers": null,
        }),
    );
    passes(
        Form::Completions,
        &json!({
            "messages": [{ "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
                { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA==" } }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{\"url\":\"http://x\"}" } }] }],
            "tools": [{ "type": "function", "function": { "name": "f", "parameters": schema } }],
            "stream": true, "stream_options": { "include_usage": true }, "max_completion_tokens": 9,
            "response_format": { "type": "json_schema", "json_schema": { "schema": schema } }, "store": false,
        }),
    );
    passes(
        Form::Responses,
        &json!({
            "input": [
                { "type": "additional_tools", "id": "at_1", "role": "developer", "tools": [
                    { "type": "namespace", "name": "functions", "tools": [
                        { "type": "custom", "name": "exec", "format": { "type": "grammar" } },
                        { "type": "function", "name": "f", "parameters": schema }] }] },
                { "type": "configuration_update", "id": "cu_1" },
                { "role": "user", "content": "x" },
                { "type": "message", "role": "user", "content": [
                    { "type": "input_text", "text": "x" },
                    { "type": "input_image", "image_url": "data:image/png;base64,AA==" }] },
                { "type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": [] },
                { "type": "custom_tool_call", "id": "i", "call_id": "c", "name": "exec", "input": "fetch(url)" },
                { "type": "custom_tool_call_output", "call_id": "c", "output": [{ "type": "input_text", "text": "x" }] },
                { "type": "local_shell_call", "call_id": "d", "action": { "type": "exec", "command": ["ls"] } },
            ],
            "tools": [
                { "type": "local_shell" }, { "type": "apply_patch" },
                { "type": "shell", "environment": { "type": "local" } }, { "type": "shell" },
            ],
            "tool_choice": "auto", "parallel_tool_calls": false, "stream": true, "background": false,
            "reasoning": { "effort": "low", "context": "all_turns" }, "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "k", "text": { "verbosity": "low" }, "client_metadata": { "thread_id": "t" },
            "previous_response_id": null, "instructions": "x",
        }),
    );
    assert_eq!(
        check(Form::Compact, &json!({ "model": "m", "input": [], "instructions": "x" })),
        Ok(())
    );
}

#[test]
fn tools_of_the_provider_are_refused() {
    for kind in [
        "web_search_20250305",
        "web_search",
        "web_search_preview",
        "web_fetch_20250910",
        "code_execution_20250825",
        "code_interpreter",
        "mcp",
        "mcp_toolset",
        "file_search",
        "image_generation",
        "advisor_20260301",
        "bash_x",
        "Web_Search",
        "computer_20250124_web",
        "",
    ] {
        let tools = json!([{ "name": "f" }, { "type": kind, "name": "bash" }]);
        for form in FORMS {
            refuses(form, &json!({ "tools": tools }), "tools[1]");
        }
        let within = json!([{ "type": "additional_tools", "tools": [{ "type": "namespace", "tools": tools }] }]);
        refuses(Form::Responses, &json!({ "input": within }), "input[0].tools[0].tools[1]");
    }
    let hosted = json!([{ "type": "shell", "environment": { "type": "container_auto" } }]);
    refuses(Form::Responses, &json!({ "tools": hosted }), "tools[0] of type shell");
    refuses(Form::Responses, &json!({ "tools": { "type": "mcp" } }), "not a list");
    refuses(Form::Responses, &json!({ "tools": [{ "type": ["mcp"] }] }), "tools[0]");
}

#[test]
fn fields_that_are_not_known_are_refused() {
    for (form, field) in [
        (Form::Messages, "mcp_servers"),
        (Form::Messages, "container"),
        (Form::Messages, "inputs"),
        (Form::Completions, "web_search_options"),
        (Form::Completions, "plugins"),
        (Form::Completions, "Tools"),
        (Form::Completions, "audio"),
        (Form::Responses, "previous_response_id"),
        (Form::Responses, "conversation"),
        (Form::Responses, "prompt"),
        (Form::Compact, "previous_response_id"),
    ] {
        refuses(form, &json!({ field: { "id": "x" } }), &format!("`{field}`"));
    }
    for form in FORMS {
        refuses(form, &json!({ "store": true }), "`store`");
        refuses(form, &json!({ "background": true }), "`background`");
    }
    assert!(check(Form::Responses, &json!({ "model": "m", "input": "x" })).is_err());
    refuses(Form::Completions, &json!({ "model": "gpt-4o-search-preview" }), "`model`");
    refuses(Form::Responses, &json!({ "model": "o4-mini-deep-research" }), "`model`");
}

#[test]
fn nothing_is_fetched_for_a_conversation() {
    let image = |source: Value| json!([{ "role": "user", "content": [{ "type": "image", "source": source }] }]);
    refuses(
        Form::Messages,
        &json!({ "messages": image(json!({ "type": "url", "url": "https://a.example/?q=1" })) }),
        ".url`",
    );
    refuses(
        Form::Messages,
        &json!({ "messages": image(json!({ "type": "file", "file_id": "f" })) }),
        ".file_id`",
    );
    let result = json!([{ "role": "user", "content": [{ "type": "tool_result", "content": image(json!({ "url": "http://a" })) }] }]);
    refuses(Form::Messages, &json!({ "messages": result }), ".url`");
    let upload =
        json!([{ "role": "user", "content": [{ "type": "container_upload", "file_id": "f" }] }]);
    refuses(Form::Messages, &json!({ "messages": upload }), ".file_id`");
    for part in [
        json!({ "type": "image_url", "image_url": { "url": "https://a.example" } }),
        json!({ "type": "image_url", "image_url": "file:///etc/passwd" }),
        json!({ "type": "image_url", "image_url": { "URL": "https://a.example" } }),
        json!({ "type": "video_url", "video_url": { "url": "http://a.example" } }),
        json!({ "type": "file", "file": { "file_id": "f" } }),
        json!({ "type": "file", "file": { "file_data": "https://a.example" } }),
        json!({ "type": "input_file", "file_url": "https://a.example" }),
        json!({ "type": "input_image", "file_id": "f" }),
    ] {
        let said = json!([{ "role": "user", "content": [part] }]);
        refuses(Form::Completions, &json!({ "messages": said }), "messages[0].content[0]");
        refuses(Form::Responses, &json!({ "input": said }), "input[0].content[0]");
        let output = json!([{ "type": "function_call_output", "output": [part] }]);
        refuses(Form::Responses, &json!({ "input": output }), "input[0].output[0]");
    }
    refuses(
        Form::Responses,
        &json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] }),
        "item_reference",
    );
    refuses(Form::Responses, &json!({ "input": [{ "id": "msg_1" }] }), "item_reference");
}
