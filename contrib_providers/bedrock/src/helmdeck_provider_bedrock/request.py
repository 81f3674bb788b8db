"""Writes requests for Converse; unsupported fields are left out and reported."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import (
    ChatRequest,
    Constraint,
    FilePart,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    Part,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_providers import (
    JSON_STRING_NOTE,
    Rendered,
    SchemaDialect,
    arguments_of,
    constrained,
    encode_payload,
    image_data,
    media_in_user_turns,
    path_segment,
    text_of,
    tool_schema,
    unsupported_part,
)

OPAQUE = "bedrock_reasoning"
"""Key of the signed reasoning in ``ChatResponse.opaque``."""

SCHEMAS = SchemaDialect(
    name="bedrock",
    json_string_note=JSON_STRING_NOTE,
    keywords=frozenset(("title", "description", "const", "format", "minItems")),
    most_min_items=1,
    closes_objects=True,
    takes_whole=True,
    is_slow=True,
)
"""As documented in October 2026. A new schema is compiled for up to a few minutes, and cached for a day."""

CLAUDE_SCHEMAS = attrs.evolve(SCHEMAS, name="bedrock-claude", most_optional=24, most_unions=16)
"""The same with Anthropic's limits."""

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CACHE_POINT = {"cachePoint": {"type": "default"}}
_IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_DOCUMENT_FORMATS = {
    "application/pdf": "pdf",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9()\[\]-]+")
_NAME_CHARS = 180


STREAM = "/converse-stream"


def path(request: ChatRequest) -> str:
    """Return the path of a request, relative to the base URL.

    :raises InvalidRequest: the model name would change the path.
    """
    action = STREAM if request.stream else "/converse"
    return f"/model/{path_segment(request)}{action}"


def constraint(request: ChatRequest, *, has_schemas: bool = True) -> Constraint:
    """Return how the answer is constrained; JSON mode without a schema is not supported.

    :param has_schemas: send a JSON schema.
    """
    schemas = CLAUDE_SCHEMAS if "anthropic." in request.model else SCHEMAS
    return constrained(request.response_format, ("json_schema",), schemas if has_schemas else None)


def render(request: ChatRequest, *, cache_models: Sequence[str] = (), has_schemas: bool = True) -> Rendered:
    """Write a request body.

    :param cache_models: substrings of the names of models that accept a cache point; others reject it.
    :param has_schemas: send a JSON schema.
    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    model = ModelId.parse(request.model).name
    marks = any(part in model for part in cache_models)
    downgrades: list[str] = []
    turns = list(media_in_user_turns(request.messages, Role.TOOL))
    payload: dict[str, Any] = {"messages": _messages(turns, continues=request.continues, marks=marks)}
    # All system messages go to one field before the conversation.
    system = [message for message in turns if message.role is Role.SYSTEM]
    if blocks := [block for message in system for block in _blocks(message.parts, marks=marks)]:
        payload["system"] = blocks
    if limits := _limits(request, downgrades):
        payload["inferenceConfig"] = limits
    if tools := _tool_config(request, downgrades):
        payload["toolConfig"] = tools
    held = constraint(request, has_schemas=has_schemas)
    downgrades += held.downgrades
    if held.schema is not None and request.response_format is not None:
        schema = {"name": request.response_format.name, "schema": encode_payload(held.schema, {}).decode()}
        payload["outputConfig"] = {"textFormat": {"type": held.kind, "structure": {"jsonSchema": schema}}}
    return Rendered(encode_payload(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def _limits(request: ChatRequest, downgrades: list[str]) -> dict[str, Any]:
    sequences = [sequence for sequence in request.stop if sequence.strip()]  # whitespace only is rejected
    downgrades += ["whitespace-only stop sequence left out"] * (len(sequences) < len(request.stop))
    limits = {
        "maxTokens": request.max_tokens,
        "temperature": request.temperature,
        "stopSequences": sequences or None,
    }
    return {name: value for name, value in limits.items() if value is not None}


# -- messages -------------------------------------------------------------------------------------------------


def _messages(messages: Sequence[Message], *, continues: bool, marks: bool) -> list[dict[str, Any]]:
    """Return the conversation with alternating roles: consecutive messages of one role are joined."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role is Role.SYSTEM:
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if not (content := _content(message, marks=marks)):
            continue  # an empty message is rejected
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    _name_documents(turns)
    if continues and turns and turns[-1]["role"] == "assistant":
        last = turns[-1]["content"][-1]
        if isinstance(text := last.get("text"), str):
            last["text"] = text.rstrip()  # trailing whitespace of a continued answer is rejected
    return turns


def _content(message: Message, *, marks: bool) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        # The API rejects an empty result.
        result = {
            "toolUseId": _id(message.tool_call_id or ""),
            "content": _blocks(message.parts) or [{"text": "(empty)"}],
        }
        return [{"toolResult": result}]
    signed = message.opaque.get(OPAQUE, ()) if message.role is Role.ASSISTANT else ()
    return [*signed, *_blocks(message.parts, marks=marks), *map(_tool_use, message.tool_calls)]


def _blocks(parts: Sequence[Part], *, marks: bool = False) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, ImagePart):
            blocks.append({"image": _image(part)})
        elif isinstance(part, FilePart):
            blocks.append({"document": _document(part)})
        elif part.text.strip():  # whitespace only is rejected
            blocks.append({"text": text_of((part,))})
        if marks and blocks and isinstance(part, TextPart) and part.ends_prefix:
            blocks.append(dict(_CACHE_POINT))
    return blocks


def _image(part: ImagePart) -> dict[str, Any]:
    media_type, data = image_data(part) or (part.media_type, "")
    kind = _IMAGE_FORMATS.get(media_type.lower())
    if kind is None:
        raise unsupported_part(part, "Bedrock", *(f"{name} images" for name in sorted(set(_IMAGE_FORMATS.values()))))
    return {"format": kind, "source": _source(part, data, "images")}


def _document(part: FilePart) -> dict[str, Any]:
    media_type, data = image_data(part) or (part.media_type, "")
    kind = _DOCUMENT_FORMATS.get(media_type.partition(";")[0].strip().lower())
    if kind is None:
        raise unsupported_part(part, "Bedrock", "images", f"documents ({', '.join(_DOCUMENT_FORMATS.values())})")
    name = " ".join(_NOT_IN_NAMES.sub(" ", part.name.rpartition(".")[0] or part.name).split())
    return {"format": kind, "name": name[:_NAME_CHARS] or "document", "source": _source(part, data, "documents")}


def _source(part: ImagePart | FilePart, data: str, kind: str) -> dict[str, Any]:
    if data:
        return {"bytes": data}
    if part.url and part.url.startswith("s3://"):
        return {"s3Location": {"uri": part.url}}
    raise InvalidRequest(
        f"Bedrock does not fetch {kind}",
        sub_cause="unsupported_media",
        detail=f"send the data of the {kind}, or a URL that starts with s3://",
    )


def _name_documents(turns: Sequence[Mapping[str, Any]]) -> None:
    """Give documents different names, and a text to each turn with documents: the API requires both."""
    names: set[str] = set()
    for turn in turns:
        content = turn["content"]
        found = [block["document"] for block in content if "document" in block]
        if found and not any("text" in block for block in content):
            content.append({"text": "(see the attached documents)"})
        results = [block["toolResult"]["content"] for block in content if "toolResult" in block]
        for document in (*found, *(each["document"] for result in results for each in result if "document" in each)):
            name = document["name"]
            numbers = itertools.count(2)
            while document["name"] in names:
                document["name"] = f"{name} ({next(numbers)})"
            names.add(document["name"])


def _id(call_id: str) -> str:
    """Return the id of a call, or a hash where the API does not accept it, so that different ids stay different."""
    return call_id if _ID.fullmatch(call_id) else hashlib.blake2s(call_id.encode("utf-8", "replace")).hexdigest()[:32]


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": _id(call.id), "name": call.name, "input": arguments_of(call)}}


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool_config(request: ChatRequest, downgrades: list[str]) -> dict[str, Any]:
    # The API rejects a conversation with calls where no tools are declared.
    called = dict.fromkeys(call.name for message in request.messages for call in message.tool_calls)
    if not request.tools:
        downgrades += ["tools of earlier calls declared"] * bool(called)
        return {"tools": [_tool(ToolDefinition(name, "", {}), downgrades) for name in called]} if called else {}
    config: dict[str, Any] = {"tools": [_tool(tool, downgrades) for tool in request.tools]}
    if request.tool_choice == "none":
        if not called:  # the API has no such choice
            return {}
        downgrades.append("tool_choice none left out")
    elif request.tool_choice in ("auto", "required"):
        config["toolChoice"] = {"any" if request.tool_choice == "required" else "auto": {}}
    elif request.tool_choice is not None:
        config["toolChoice"] = {"tool": {"name": request.tool_choice}}
    return config


def _tool(tool: ToolDefinition, downgrades: list[str]) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": tool.name, "inputSchema": {"json": tool_schema(tool, downgrades)}}
    if tool.description.strip():  # an empty one is rejected
        spec["description"] = tool.description
    return {"toolSpec": spec}
