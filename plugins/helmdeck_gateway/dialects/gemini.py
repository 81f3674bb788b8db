"""Gemini's generateContent, as a client sends it; ``gemini_writer`` has the responses."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from helmdeck_core import (
    EMPTY,
    ChatRequest,
    Message,
    Part,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
from helmdeck_gateway.dialects.gemini_schema import camel_case, json_schema
from helmdeck_gateway.dialects.gemini_writer import Writer as Writer
from helmdeck_gateway.dialects.gemini_writer import error as error
from helmdeck_gateway.dialects.gemini_writer import whole as whole
from helmdeck_gateway.dialects.parsed import (
    OpaqueOf,
    Parsed,
    field,
    file,
    file_data,
    max_tokens,
    not_blank,
    objects,
    one_of,
    required,
    temperature,
    tool,
    unique,
    unread,
)
from helmdeck_gateway.problems import invalid

FAMILY: str = "gemini"
"""The plugin whose providers speak the dialect, and the key of their data in ``Message.opaque``."""

_READ = frozenset(("model", "stream", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig"))
_READ_CONFIG = frozenset(
    (
        "temperature", "maxOutputTokens", "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema",
        "candidateCount",
    )
)  # fmt: skip
_NEVER = ("responseLogprobs", "logprobs", "speechConfig")
"""Fields of the configuration whose effect no response of the deck can carry."""
_PARTS: Final = frozenset(
    ("text", "inlineData", "fileData", "functionCall", "functionResponse", "thought", "thoughtSignature")
)
_FUNCTION: Final = frozenset(("name", "description", "parameters", "parametersJsonSchema"))
_MODES: Final = {"MODE_UNSPECIFIED": None, "AUTO": "auto", "NONE": "none", "ANY": "required", "VALIDATED": "auto"}

BYTES_PER_TOKEN: Final = 3
"""For estimates: too few rather than too many, so that a prompt that is counted as fitting does fit."""

_encode = msgspec.json.Encoder().encode


def parse(body: Mapping[str, Any], opaque_of: OpaqueOf) -> Parsed:
    """Read a request; the endpoint has put ``model`` and ``stream``, which are in the URL, into its body.

    :raises Problem: it is not a valid request, or uses a part that the gateway does not support.
    """
    body = camel_case(body)
    dropped: list[str] = []
    config = camel_case(field(body, "generationConfig", dict) or {})
    if (count := field(config, "candidateCount", int, "generationConfig.")) not in (None, 1):
        raise invalid(f"one candidate per request is supported, found {count}", "generationConfig.candidateCount")
    reader = _Reader(opaque_of, dropped)
    messages = reader.system(field(body, "systemInstruction", (dict, str)))
    for number, item in enumerate(objects(required(body, "contents", list), "contents")):
        messages += reader.messages(camel_case(item), f"contents[{number}].")
    native = {name: value for name, value in body.items() if name not in _READ and value is not None}
    rest = {name: value for name, value in config.items() if name not in _READ_CONFIG and value is not None}
    dropped += [f"generationConfig.{name}" for name in _NEVER if rest.pop(name, None) not in (None, False)]
    if rest.get("responseModalities") is not None:
        _check_modalities(rest.pop("responseModalities"))
    if rest:
        native["generationConfig"] = rest
    tools = list(_tools(body, dropped))
    request = ChatRequest(
        model=field(body, "model", str) or "",
        messages=not_blank(messages, "contents"),
        max_tokens=max_tokens(config, "maxOutputTokens"),
        temperature=temperature(config),
        tools=unique(tools),
        tool_choice=_tool_choice(camel_case(field(body, "toolConfig", dict) or {}), dropped) if tools else None,
        response_format=_response_format(config),
        stop=tuple(map(str, field(config, "stopSequences", list, "generationConfig.") or ())),
    )
    return Parsed(
        request=request,
        is_stream=bool(body.get("stream")),
        native=native,
        shared=_shared(rest),
        dropped=tuple(dict.fromkeys(dropped)),
        body=body,
    )


def estimate_tokens(parsed: Parsed) -> int:
    """Return a conservative estimate of the input tokens of a request."""
    content = {name: parsed.body[name] for name in ("systemInstruction", "contents", "tools") if name in parsed.body}
    return max(1, len(_encode(content)) // BYTES_PER_TOKEN)


def models(names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a list of models; each is an id and its owner."""
    return {"models": [model(name) for name, _ in names]}


def model(name: str) -> dict[str, Any]:
    """Return one model."""
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {"name": f"models/{name}", "displayName": name, "version": "1", "supportedGenerationMethods": methods}


def _shared(config: Mapping[str, Any]) -> dict[str, Any]:
    shared: dict[str, Any] = {"top_p": config["topP"]} if "topP" in config else {}
    thinking = camel_case(field(config, "thinkingConfig", dict, "generationConfig.") or {})
    budget = field(thinking, "thinkingBudget", int, "generationConfig.thinkingConfig.")
    if level := field(thinking, "thinkingLevel", str, "generationConfig.thinkingConfig."):
        shared["effort"] = level.lower()
    elif budget is not None and budget >= 0:  # below 0, the model decides
        shared["thinking_tokens"] = budget
    if thinking.get("includeThoughts"):
        shared["summary"] = "auto"
    return shared


def _check_modalities(value: Any) -> None:
    if not isinstance(value, list) or {str(each).upper() for each in value} - {"TEXT", "MODALITY_UNSPECIFIED"}:
        raise invalid(f"only TEXT is supported, found {value!r}", "generationConfig.responseModalities")


def _response_format(config: Mapping[str, Any]) -> ResponseFormat | None:
    where = "generationConfig."
    kind = field(config, "responseMimeType", str, where) or ""
    native = field(config, "responseSchema", dict, where)
    schema = field(config, "responseJsonSchema", dict, where)
    if kind in ("", "text/plain") and native is None and schema is None:
        return None
    one_of(kind or "application/json", ("application/json",), f"{where}responseMimeType")
    if schema is None and native is not None:
        schema = json_schema(native)
    return ResponseFormat("json_object") if schema is None else ResponseFormat("json_schema", "answer", schema)


def _tools(body: Mapping[str, Any], dropped: list[str]) -> Iterator[ToolDefinition]:
    for number, item in enumerate(objects(body.get("tools") or [], "tools")):
        for name, value in camel_case(item).items():
            if name != "functionDeclarations":  # executed by Google's own servers
                dropped.append(f"tools.{name}")
                continue
            place = f"tools[{number}].functionDeclarations"
            for index, each in enumerate(objects(value or [], place)):
                yield _function(camel_case(each), f"{place}[{index}]", dropped)


def _function(item: Mapping[str, Any], where: str, dropped: list[str]) -> ToolDefinition:
    dropped += unread(item, _FUNCTION, "tools.functionDeclarations")
    schema = item.get("parametersJsonSchema")
    if schema is None and (native := field(item, "parameters", dict, f"{where}.")) is not None:
        schema = json_schema(native)
    return tool(required(item, "name", str, f"{where}."), item.get("description"), schema, where)


def _tool_choice(config: Mapping[str, Any], dropped: list[str]) -> str | None:
    where = "toolConfig.functionCallingConfig."
    calling = camel_case(field(config, "functionCallingConfig", dict, "toolConfig.") or {})
    dropped += unread(config, ("functionCallingConfig",), "toolConfig")
    dropped += unread(calling, ("mode", "allowedFunctionNames"), where[:-1])
    mode = (field(calling, "mode", str, where) or "MODE_UNSPECIFIED").upper()
    choice = _MODES[one_of(mode, _MODES, f"{where}mode")]
    names = field(calling, "allowedFunctionNames", list, where) or []
    if choice == "required" and len(names) == 1:
        return str(names[0])
    if names:
        dropped.append(f"{where}allowedFunctionNames")
    return choice


class _Reader:
    """Reads contents. Calls without an id get one, and results without an id belong to the first open call of their name.

    :param dropped: receives the names of the parts that are left out.
    """

    def __init__(self, opaque_of: OpaqueOf, dropped: list[str]) -> None:
        self._opaque_of = opaque_of
        self._dropped = dropped
        self._open: list[tuple[str, str]] = []  # name and id of calls without a result
        self._count = 0

    def system(self, value: Mapping[str, Any] | str | None) -> list[Message]:
        """Return the system message, if there is one."""
        if not value:
            return []
        parts = [{"text": value}] if isinstance(value, str) else value.get("parts") or []
        where = "systemInstruction.parts"
        read = tuple(self._part(camel_case(each), f"{where}[{i}]") for i, each in _parts_of(parts, where))
        return [Message(Role.SYSTEM, read)] if read else []

    def messages(self, item: Mapping[str, Any], where: str) -> list[Message]:
        """Return the messages of a turn: results of functions are messages of their own."""
        role = one_of(
            field(item, "role", str, where) or "user", ("user", "model", "function", "system"), f"{where}role"
        )
        where += "parts"
        parts = [(f"{where}[{i}]", camel_case(each)) for i, each in _parts_of(item.get("parts") or [], where)]
        self._dropped += unread(item, ("role", "parts"), "contents")
        for _, part in parts:
            if part.get("functionCall") is not None or part.get("functionResponse") is not None:
                self._dropped += unread(part, _PARTS, "parts")
        if role == "model":
            return [self._answer(parts)]
        messages: list[Message] = []
        rest: list[Part] = []
        for place, part in parts:
            if part.get("functionResponse") is not None:
                messages.append(
                    self._result(required(part, "functionResponse", dict, f"{place}."), f"{place}.functionResponse.")
                )
            else:
                rest.append(self._part(part, place))
        kind = Role.SYSTEM if role == "system" else Role.USER
        return [*messages, Message(kind, tuple(rest))] if rest or not messages else messages

    def _result(self, result: Mapping[str, Any], where: str) -> Message:
        self._dropped += unread(camel_case(result), ("id", "name", "response"), "functionResponse")
        name = required(result, "name", str, where)
        own_id = field(result, "id", str, where)
        call = next((each for each in self._open if each[1] == own_id), None) if own_id else None
        call = call or next((each for each in self._open if each[0] == name), None)
        if call is not None:
            self._open.remove(call)
        call_id = own_id or (call[1] if call is not None else name)
        return Message(Role.TOOL, (TextPart(_text_of(result.get("response"))),), tool_call_id=call_id)

    def _answer(self, parts: Sequence[tuple[str, Mapping[str, Any]]]) -> Message:
        texts: list[Part] = []
        calls: list[ToolCall] = []
        signatures: list[str] = []
        is_foreign = False
        for place, part in parts:
            if signature := field(part, "thoughtSignature", str, f"{place}."):
                own = own_signature(signature)
                signatures += [own] if own else []
                is_foreign = is_foreign or not own
            if (call := field(part, "functionCall", dict, f"{place}.")) is not None:
                calls.append(self._call(camel_case(call), f"{place}.functionCall."))
            elif not part.get("thought") and part.keys() - {"thought", "thoughtSignature"}:
                texts.append(self._part(part, place))
        self._open = [(call.name, call.id) for call in calls]
        opaque = self._opaque_of([*(call.id for call in calls), *signatures]) or EMPTY
        if is_foreign and not opaque:  # from a conversation that began elsewhere
            opaque = {FAMILY: {"parts": [dict(part) for _, part in parts]}}
        return Message(Role.ASSISTANT, tuple(texts), tuple(calls), opaque=opaque)

    def _call(self, call: Mapping[str, Any], where: str) -> ToolCall:
        self._count += 1
        self._dropped += unread(call, ("id", "name", "args"), "functionCall")
        arguments = _encode(field(call, "args", dict, where) or {}).decode()
        call_id = field(call, "id", str, where) or f"call_{self._count}"
        return ToolCall(call_id, required(call, "name", str, where), arguments)

    def _part(self, part: Mapping[str, Any], where: str) -> Part:
        self._dropped += unread(part, _PARTS, "parts")
        if (text := field(part, "text", str, f"{where}.")) is not None:
            return TextPart(text)
        if (data := field(part, "inlineData", dict, f"{where}.")) is not None:
            data, where = camel_case(data), f"{where}.inlineData."
            self._dropped += unread(data, ("mimeType", "data", "displayName"), "inlineData")
            name = field(data, "displayName", str, where) or ""
            kind = required(data, "mimeType", str, where)
            return file_data(kind, _standard_base64(required(data, "data", str, where)), name, f"{where}data")
        if (stored := field(part, "fileData", dict, f"{where}.")) is not None:
            stored, where = camel_case(stored), f"{where}.fileData."
            self._dropped += unread(stored, ("mimeType", "fileUri"), "fileData")
            kind = field(stored, "mimeType", str, where) or ""
            return file(required(stored, "fileUri", str, where), "", f"{where}fileUri", kind)
        kind = next((name for name in part if name not in ("thought", "thoughtSignature")), "")
        supported = "text, inlineData, fileData, functionCall, functionResponse"
        raise invalid(f"a part of type {kind!r} is not supported; supported: {supported}", where)


def own_signature(signature: str) -> str:
    """Return the gateway's own signature in a client's one, which is base64; empty for another one."""
    try:
        text = base64.b64decode(_standard_base64(signature)).decode()
    except (binascii.Error, ValueError):
        return ""
    return text if text.startswith(OWN_PREFIX) else ""


def _standard_base64(data: str) -> str:
    """Return data in the standard alphabet; the SDK google-genai sends that of URLs."""
    return data.replace("-", "+").replace("_", "/") + "=" * (-len(data) % 4)


def _parts_of(parts: Any, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from enumerate(objects(parts if isinstance(parts, list) else [parts], where))


def _text_of(response: Any) -> str:
    """The result of a function as a text: clients wrap a text into an object, since the API takes objects only."""
    if isinstance(response, Mapping) and len(response) == 1:
        (value,) = response.values()
        if isinstance(value, str) and next(iter(response)) in ("result", "output", "content"):
            return value
    return "" if response is None else _encode(response).decode()
