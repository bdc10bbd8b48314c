"""The interfaces of model providers: how each asks, and how each is answered, whole and as a stream.

One class for each, with `read`, `whole` and `stream`. What a model says is ("text", words) or ("calls", [(tool,
arguments, number)…]). Never decides what is said.
"""

import json
from dataclasses import dataclass, field


@dataclass
class Request:
    """What was asked."""

    form: str
    model: str = ""
    streams: bool = False
    counts_tokens: bool = False
    # What the agent offers, by name: {"kind": …, "schema": …}.
    tools: dict = field(default_factory=dict)
    # The text of each result of a tool in the conversation, in order.
    results: list = field(default_factory=list)
    # What the answer must look like, if the agent says so.
    schema: dict | None = None


def of_path(path):
    """The interface at a path, if there is one."""
    path = path.split("?")[0]
    if path.endswith(("/messages", "/messages/count_tokens")):
        return Messages
    if path.endswith("/chat/completions"):
        return Completions
    if path.endswith("/responses"):
        return Responses
    if path.rsplit(":", 1)[-1] in ("generateContent", "streamGenerateContent", "countTokens"):
        return Gemini
    return None


def text_of(content):
    """The text of a content, however it is wrapped."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        for name in ("text", "content", "output"):
            if name in content:
                return text_of(content[name])
        return json.dumps(content)
    return "" if content is None else str(content)


class Messages:
    """Anthropic Messages."""

    @staticmethod
    def read(path, body):
        offered = {
            tool["name"]: {"kind": "function", "schema": tool["input_schema"]}
            for tool in body.get("tools", [])
            if "input_schema" in tool
        }
        blocks = [
            block
            for message in body.get("messages", [])
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        results = [text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
        counts = path.split("?")[0].endswith("/count_tokens")
        asked = body.get("output_config", {}).get("format") or body.get("output_format") or {}
        schema = asked.get("schema")
        return Request("messages", body.get("model", ""), bool(body.get("stream")), counts, offered, results, schema)

    @staticmethod
    def message(asked):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    @classmethod
    def whole(cls, asked, said):
        message = cls.message(asked)
        if said[0] == "text":
            message |= {"content": [{"type": "text", "text": said[1]}], "stop_reason": "end_turn"}
        else:
            blocks = [
                {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
                for tool, arguments, number in said[1]
            ]
            message |= {"content": blocks, "stop_reason": "tool_use"}
        return message

    @classmethod
    def stream(cls, asked, said):
        message = cls.whole(asked, said)
        events = [{"type": "message_start", "message": cls.message(asked)}]
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                start = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                start = block | {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": start},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                "usage": {"output_tokens": 1},
            },
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events]


class Completions:
    """OpenAI Chat Completions."""

    @staticmethod
    def read(_, body):
        offered = {
            tool["function"]["name"]: {"kind": "function", "schema": tool["function"].get("parameters", {})}
            for tool in body.get("tools", [])
            if tool.get("type") == "function"
        }
        results = [text_of(message["content"]) for message in body["messages"] if message["role"] == "tool"]
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        return Request("completions", body.get("model", ""), bool(body.get("stream")), False, offered, results, schema)

    @staticmethod
    def said(said):
        if said[0] == "text":
            return {"role": "assistant", "content": said[1]}, "stop"
        calls = [
            {
                "index": index,
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(arguments)},
            }
            for index, (tool, arguments, number) in enumerate(said[1])
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"

    @classmethod
    def whole(cls, asked, said):
        message, reason = cls.said(said)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return cls.answer(asked, "chat.completion", choice) | {"usage": cls.usage}

    @classmethod
    def stream(cls, asked, said):
        delta, reason = cls.said(said)
        kind = "chat.completion.chunk"
        first = {"index": 0, "delta": delta, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": reason}
        return [
            (None, cls.answer(asked, kind, first)),
            (None, cls.answer(asked, kind, last) | {"usage": cls.usage}),
            (None, "[DONE]"),
        ]

    @staticmethod
    def answer(asked, kind, choice):
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": asked.model, "choices": [choice]}

    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class Responses:
    """OpenAI Responses."""

    @staticmethod
    def read(_, body):
        items = body["input"] if isinstance(body["input"], list) else []
        # Codex sends its tools as an item of the conversation, and in groups.
        groups = [body] + [item for item in items if item.get("type") == "additional_tools"]
        offered = {}
        while groups:
            for tool in groups.pop(0).get("tools", []):
                if tool.get("type") == "namespace":
                    groups.append(tool)
                elif tool.get("type") == "function":
                    offered[tool["name"]] = {"kind": "function", "schema": tool.get("parameters", {})}
                elif tool.get("type") == "custom":
                    kind = "javascript" if "JavaScript" in tool.get("description", "") else "custom"
                    offered[tool["name"]] = {"kind": kind, "schema": {}}
        schema = body.get("text", {}).get("format", {}).get("schema")
        of_tools = ("function_call_output", "custom_tool_call_output")
        results = [text_of(item["output"]) for item in items if item.get("type") in of_tools]
        return Request("responses", body.get("model", ""), bool(body.get("stream")), False, offered, results, schema)

    @classmethod
    def items(cls, said):
        if said[0] == "text":
            content = [{"type": "output_text", "text": said[1], "annotations": []}]
            return [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
        return [cls.item(*call) for call in said[1]]

    @classmethod
    def item(cls, tool, arguments, number):
        call = {"id": f"item_{number}", "call_id": f"call_{number}", "name": tool, "status": "completed"}
        if isinstance(arguments, str):
            return call | {"type": "custom_tool_call", "input": arguments}
        return call | {"type": "function_call", "arguments": json.dumps(arguments)}

    @classmethod
    def whole(cls, asked, said):
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        return cls.begun(asked) | {"status": "completed", "output": cls.items(said), "usage": usage}

    @classmethod
    def stream(cls, asked, said):
        events = [{"type": "response.created", "response": cls.begun(asked)}]
        for index, item in enumerate(cls.items(said)):
            begun = item | {"status": "in_progress"} | cls.empty(item)
            events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
            if item["type"] == "message":
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                events.append({"type": "response.output_text.delta", "delta": said[1]} | place)
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": cls.whole(asked, said)})
        return [(event["type"], event | {"sequence_number": at}) for at, event in enumerate(events)]

    @staticmethod
    def empty(item):
        return {"message": {"content": []}, "function_call": {"arguments": ""}}.get(item["type"], {"input": ""})

    @staticmethod
    def begun(asked):
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": asked.model,
            "status": "in_progress",
            "output": [],
        }


class Gemini:
    """Gemini generateContent and streamGenerateContent."""

    @staticmethod
    def read(path, body):
        model, method = path.split("?")[0].rsplit("/", 1)[-1].rsplit(":", 1)
        declared = [
            function
            for group in body.get("tools", [])
            for function in group.get("functionDeclarations", [])
        ]
        offered = {
            function["name"]: {
                "kind": "function",
                "schema": function.get("parametersJsonSchema") or function.get("parameters") or {},
            }
            for function in declared
        }
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        results = [
            text_of(part["functionResponse"].get("response"))
            for part in parts
            if "functionResponse" in part
        ]
        streams, counts = method == "streamGenerateContent", method == "countTokens"
        settings = body.get("generationConfig", {})
        schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
        return Request("gemini", model, streams, counts, offered, results, schema)

    @staticmethod
    def whole(asked, said):
        if said[0] == "text":
            parts = [{"text": said[1]}]
        else:
            parts = [
                {"functionCall": {"id": f"call_{number}", "name": tool, "args": arguments}}
                for tool, arguments, number in said[1]
            ]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": asked.model}

    @classmethod
    def stream(cls, asked, said):
        return [(None, cls.whole(asked, said))]
