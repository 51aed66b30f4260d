"""The APIs of models that clients speak: what a request shows the model, and a reply in the same dialect.

Each is as large as the clients need. A reply takes one step: it calls a tool or says a sentence.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """What the model does next: call a tool, whatever prefix the client gives its name, or say a sentence.

    An argument that is a pattern stands for what the model finds with it in the results so far.
    """

    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    words: str = "done"

    def after(self, results: Iterable[str]) -> "Step":
        """Return the step with the arguments that a model which read these results would send."""
        read = "\n".join(results)
        found = {
            name: "".join(value.findall(read)[:1]) if isinstance(value, re.Pattern) else value
            for name, value in self.arguments.items()
        }
        return replace(self, arguments=found)


class ToolKind(Enum):
    """What a tool is: a function, what calls or finds functions that are not listed, or a program that calls them."""

    FUNCTION = 1
    BRIDGE = 2
    SEARCH = 3
    CODE = 4


SEARCHES = {"ToolSearch", "tool_search"}


@dataclass(frozen=True)
class OfferedTool:
    """A tool as the model reads it. `namespace` is where Codex puts the tools of one server."""

    name: str
    description: str = ""
    schema: Json = field(default_factory=dict)
    namespace: str = ""

    @property
    def kind(self) -> ToolKind:
        """What the tool is for."""
        if self.name in SEARCHES:
            return ToolKind.SEARCH
        return {"tool_call": ToolKind.BRIDGE, "exec": ToolKind.CODE}.get(self.name, ToolKind.FUNCTION)


@dataclass(frozen=True)
class ModelRequest:
    """What one request showed the model.

    Attributes:
        system: What the client says before the conversation.
        tools: The tools it offers, with the text that stands before those of a namespace.
        messages: Role and text of each message, in their order, without calls and results of tools.
        results: The result of each tool call so far, exactly as the model reads it.
        calls: The steps the model has taken in this conversation: the tool that it called, or nothing where it spoke.
    """

    system: str
    tools: tuple[OfferedTool, ...]
    messages: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    calls: tuple[str, ...]
    body: Json = field(repr=False, default_factory=dict)

    @property
    def read(self) -> str:
        """Everything but tools and their results, as one text."""
        return "\n".join([self.system, *(text for _, text in self.messages)])

    @property
    def taken(self) -> int:
        """How many steps of its script the model has taken: those that looked for a tool do not count."""
        return sum(name not in SEARCHES for name in self.calls)

    def tool_for(self, name: str) -> OfferedTool | None:
        """Return the tool of this name, whatever prefix the client gave it; else what finds or calls it."""
        named = (tool for tool in self.tools if tool.name.endswith(name))
        others = sorted(
            (tool for tool in self.tools if tool.kind is not ToolKind.FUNCTION), key=lambda tool: tool.kind.value
        )
        return next(named, None) or next(iter(others), None)


class Dialect(Protocol):
    """One API: how its requests are read and answered."""

    def read(self, body: Json) -> ModelRequest:
        """Return what the request shows the model."""

    def answer(self, body: Json, step: Step, tool: OfferedTool | None, *, unique: str, stream: bool) -> bytes:
        """Return the reply that takes this step; `tool` is the one to call, if the step calls one."""


class AnthropicMessages:
    """The Messages API, which Claude Code speaks."""

    def read(self, body: Json) -> ModelRequest:
        """Return what the request shows the model."""
        parts = [(message["role"], part) for message in body["messages"] for part in _listed(message["content"])]
        return ModelRequest(
            system=_text_of(body.get("system")),
            tools=tuple(
                OfferedTool(tool["name"], tool.get("description", ""), tool.get("input_schema", {}))
                for tool in body.get("tools", [])
            ),
            messages=tuple((role, part["text"]) for role, part in parts if part["type"] == "text"),
            results=tuple(_text_of(part.get("content")) for _, part in parts if part["type"] == "tool_result"),
            calls=tuple(
                "".join(part.get("name", "") for part in _listed(message["content"]))
                for message in body["messages"]
                if message["role"] == "assistant"
            ),
            body=body,
        )

    def answer(self, body: Json, step: Step, tool: OfferedTool | None, *, unique: str, stream: bool) -> bytes:
        """Return a message of one block."""
        arguments = _arguments(step, tool)
        head = {"id": f"msg_{unique}", "type": "message", "role": "assistant", "model": body.get("model")}
        if tool:
            opened: Json = {"type": "tool_use", "id": f"toolu_{unique}", "name": tool.name, "input": {}}
            block = {**opened, "input": arguments}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        else:
            opened, block = {"type": "text", "text": ""}, {"type": "text", "text": step.words}
            delta = {"type": "text_delta", "text": step.words}
        stop = "tool_use" if tool else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        if not stream:
            return _json({**head, "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage})
        unfinished = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _named_events(
            {"type": "message_start", "message": unfinished},
            {"type": "content_block_start", "index": 0, "content_block": opened},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        )


class OpenAIResponses:
    """The Responses API, which Codex speaks."""

    def read(self, body: Json) -> ModelRequest:
        """Return what the request shows the model."""
        items = _listed(body.get("input"))
        tools = [*body.get("tools", []), *(tool for item in items for tool in item.get("tools", []))]
        messages = [item for item in items if item.get("type", "message") == "message"]
        return ModelRequest(
            system=body.get("instructions") or "",
            tools=tuple(_tools_of_responses(tools)),
            messages=tuple((item["role"], _text_of(item["content"])) for item in messages),
            results=tuple(
                _text_of(item.get("output", item.get("tools")))
                for item in items
                if item.get("type", "").endswith("_output")
            ),
            calls=tuple(
                item.get("name", item["type"].removesuffix("_call") if "call_id" in item else "")
                for item in items
                if item.get("role") == "assistant" or item.get("type", "").endswith("_call")
            ),
            body=body,
        )

    def answer(self, body: Json, step: Step, tool: OfferedTool | None, *, unique: str, stream: bool) -> bytes:
        """Return a response of one item."""
        item = {**_item(step, tool), "id": f"item_{unique}", "status": "completed"}
        if tool:
            item["call_id"] = f"call_{unique}"
        response = {"id": f"resp_{unique}", "object": "response", "status": "completed", "output": [item]}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response["usage"] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details}
        if not stream:
            return _json(response)
        return _named_events(
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        )


class GeminiContents:
    """The `generateContent` API, which Gemini CLI speaks."""

    def read(self, body: Json) -> ModelRequest:
        """Return what the request shows the model."""
        contents = body.get("contents", [])
        parts = [(content.get("role", "user"), part) for content in contents for part in content.get("parts", [])]
        functions = [function for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])]
        return ModelRequest(
            system=_text_of(body.get("systemInstruction", {}).get("parts")),
            tools=tuple(
                OfferedTool(function["name"], function.get("description", ""), function.get("parametersJsonSchema", {}))
                for function in functions
            ),
            messages=tuple((role, part["text"]) for role, part in parts if "text" in part),
            results=tuple(
                _text_of(part["functionResponse"]["response"].get("output", part["functionResponse"]["response"]))
                for _, part in parts
                if "functionResponse" in part
            ),
            calls=tuple(
                "".join(part.get("functionCall", {}).get("name", "") for part in content.get("parts", []))
                for content in contents
                if content.get("role") == "model"
            ),
            body=body,
        )

    def answer(self, body: Json, step: Step, tool: OfferedTool | None, *, unique: str, stream: bool) -> bytes:
        """Return one candidate of one part."""
        part = {"functionCall": {"name": tool.name, "args": _arguments(step, tool)}} if tool else {"text": step.words}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        reply = _json({"candidates": [candidate], "usageMetadata": usage})
        return b"data: " + reply + b"\n\n" if stream else reply


class OpenAIChat:
    """Chat completions, which clients for any model speak."""

    def read(self, body: Json) -> ModelRequest:
        """Return what the request shows the model."""
        messages = body.get("messages", [])
        functions = [tool["function"] for tool in body.get("tools", []) if "function" in tool]
        return ModelRequest(
            system="\n".join(_text_of(message["content"]) for message in messages if message["role"] == "system"),
            tools=tuple(
                OfferedTool(function["name"], function.get("description", ""), function.get("parameters", {}))
                for function in functions
            ),
            messages=tuple(
                (message["role"], _text_of(message.get("content")))
                for message in messages
                if message["role"] not in ("system", "tool")
            ),
            results=tuple(_text_of(message["content"]) for message in messages if message["role"] == "tool"),
            calls=tuple(
                "".join(call["function"]["name"] for call in message.get("tool_calls") or [])
                for message in messages
                if message["role"] == "assistant"
            ),
            body=body,
        )

    def answer(self, body: Json, step: Step, tool: OfferedTool | None, *, unique: str, stream: bool) -> bytes:
        """Return one choice, in one chunk where it is streamed."""
        said: Json = {"role": "assistant", "content": step.words}
        if tool:
            function = {"name": tool.name, "arguments": json.dumps(_arguments(step, tool))}
            call = {"index": 0, "id": f"call_{unique}", "type": "function", "function": function}
            said = {"role": "assistant", "content": None, "tool_calls": [call]}
        head = {"id": f"chat_{unique}", "created": 1, "model": body.get("model")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        finish = "tool_calls" if tool else "stop"
        if not stream:
            choice = {"index": 0, "message": said, "finish_reason": finish}
            return _json({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunk = {**head, "object": "chat.completion.chunk"}
        opened = {**chunk, "choices": [{"index": 0, "delta": said, "finish_reason": None}]}
        ended = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}
        return b"".join(b"data: " + data + b"\n\n" for data in (_json(opened), _json(ended), b"[DONE]"))


def _item(step: Step, tool: OfferedTool | None) -> Json:
    """Return a step as an item of the Responses API."""
    if tool is None:
        text = {"type": "output_text", "text": step.words, "annotations": []}
        return {"type": "message", "role": "assistant", "content": [text]}
    if tool.kind is ToolKind.SEARCH:
        return {"type": "tool_search_call", "execution": "client", "arguments": {"query": step.tool}}
    if tool.kind is ToolKind.CODE:
        found = f"ALL_TOOLS.find(({{name}}) => name.endsWith({json.dumps(step.tool)})).name"
        result = f"(await tools[{found}]({json.dumps(dict(step.arguments))}))"
        return {
            "type": "custom_tool_call",
            "name": tool.name,
            "input": f"{result}.content.map(part => text(part.text))",
        }
    namespace = {"namespace": tool.namespace} if tool.namespace else {}
    return {"type": "function_call", "name": tool.name, "arguments": json.dumps(dict(step.arguments)), **namespace}


def _arguments(step: Step, tool: OfferedTool | None) -> Json:
    """Return the arguments of a call: those of the step, or what to look for or to pass on."""
    if tool and tool.kind is ToolKind.SEARCH:
        return {"query": f"select:{step.tool}"}
    if tool and tool.kind is ToolKind.BRIDGE:
        return {"name": f"mcp__bigmind__{step.tool}", "arguments": dict(step.arguments)}
    return dict(step.arguments)


def _tools_of_responses(tools: Iterable[Json]) -> Iterator[OfferedTool]:
    """Return the functions, those in a namespace of Codex too."""
    for tool in tools:
        namespace = tool["name"] if "tools" in tool else ""
        if namespace:
            yield OfferedTool("", tool.get("description", ""), namespace=namespace)
        for function in tool.get("tools", [tool]):
            name, description = function.get("name") or function["type"], function.get("description") or ""
            yield OfferedTool(name, description, function.get("parameters") or {}, namespace)


def _listed(content: object) -> list[Json]:
    """Return content as a list of parts, which may be a text alone."""
    if isinstance(content, str):
        return [{"type": "text", "role": "user", "text": content, "content": content}]
    return content if isinstance(content, list) else []


def _text_of(content: object) -> str:
    """Return the text of content: that of its parts, or the content itself."""
    if isinstance(content, list):
        return "\n".join(_text_of(part) for part in content)
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else json.dumps(content, ensure_ascii=False)
    return "" if content is None else str(content)


def _json(data: Json) -> bytes:
    return json.dumps(data).encode()


def _named_events(*events: Json) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
