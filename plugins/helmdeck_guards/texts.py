"""The texts of a request, and their replacement; and the search of one text by one guard."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import ChatRequest, GuardFinding, Message, Part, TextPart
from helmdeck_guards.plain_text import PlainText
from helmdeck_guards.settings import OpenGuard

Edit = Callable[[str, bool], str]
"""Returns a text after the findings in it were handled; the second argument is whether it is JSON."""
_ENCODED: Final = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{16,65536}={0,2}(?![A-Za-z0-9+/_=-])")
_MAX_DEPTH: Final = 32


def search(guard: OpenGuard, text: PlainText, *, decodes: bool = False) -> list[GuardFinding]:
    """Return the findings of a guard in a text, at their places in the original.

    :param decodes: words in base64 are decoded and searched, too.
    :raises TypeError: the guard returned something else.
    """
    assert guard.guard.find is not None
    matches = guard.guard.find(text.plain)
    if not matches and not decodes:
        return []
    found = list[GuardFinding]()
    for each in apart([placed(match, len(text.plain)) for match in matches]):
        if not each.has_place:
            found.append(each)
        elif not guard.allowed or text.plain[each.start : each.stop].casefold() not in guard.allowed:
            found.append(GuardFinding(each.kind, *text.span(each.start, each.stop)))
    if not decodes:
        return found
    hidden = list[GuardFinding]()
    for match in _ENCODED.finditer(text.plain):
        start, stop = text.span(*match.span())
        if any(start < each.stop and each.start < stop for each in found):
            continue
        if (decoded := _decoded(match[0])) and (inner := guard.guard.find(decoded)):
            hidden.append(GuardFinding(inner[0].kind, start, stop))
    return sorted([*found, *hidden], key=lambda each: each.start) if hidden else found


def as_finding(value: object) -> GuardFinding:
    """Return a value that a guard returned as a finding.

    :raises TypeError: it is something else.
    """
    if not isinstance(value, GuardFinding):
        raise TypeError(f"{type(value).__name__} instead of a GuardFinding")
    return value


def placed(value: object, *sizes: int) -> GuardFinding:
    """Return a finding of a guard; without its place where that is not in the text, so that it blocks instead of staying.

    :param sizes: the lengths of the texts that were searched.
    :raises TypeError: it is something else.
    """
    each = as_finding(value)
    is_inside = 0 <= each.text < len(sizes) and 0 <= each.start < each.stop <= sizes[each.text]
    return each if is_inside else GuardFinding(each.kind)


def apart(findings: Sequence[GuardFinding]) -> list[GuardFinding]:
    """Return findings in the order of their places, overlapping ones as one; those without a place are first."""
    found = [each for each in findings if not each.has_place]
    places = [each for each in findings if each.has_place]
    for each in sorted(places, key=lambda each: (each.text, each.start, -each.stop)):
        last = found[-1] if found else each
        if last is not each and last.text == each.text and each.start < last.stop:
            found[-1] = attrs.evolve(last, stop=max(last.stop, each.stop))
        else:
            found.append(each)
    return found


def _decoded(word: str) -> str:
    """Return the text that a word encodes in base64; empty if it encodes none."""
    word = word.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    try:
        text = base64.b64decode(word + "=" * (-len(word) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return text if all(char.isprintable() or char.isspace() for char in text) else ""


def replaced(text: str, findings: Sequence[GuardFinding], placeholder: Callable[[str, str], str]) -> str:
    """Return a text with a placeholder for each finding that has a place.

    :param findings: in order, without overlaps.
    :param placeholder: returns it for a kind and the text of a finding.
    """
    parts, end = list[str](), 0
    for each in findings:
        if each.has_place:
            parts += [text[end : each.start], placeholder(each.kind, text[each.start : each.stop])]
            end = each.stop
    return "".join([*parts, text[end:]])


def texts_of(request: ChatRequest) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a request, and whether each is JSON."""
    for message in request.messages:
        yield from ((part.text, False) for part in message.texts)
        yield from ((call.arguments, True) for call in message.tool_calls)
    for tool in request.tools:
        yield tool.description, False
        yield from ((each, False) for each in _strings(tool.input_schema))
    yield from ((each, False) for each in _strings(request.extra))


def edited(request: ChatRequest, edit: Edit, edit_parts: Callable[[Sequence[str]], list[str]]) -> ChatRequest:
    """Return a request with edited texts; itself if nothing changed.

    :param edit_parts: the same for the texts of one message together.
    """
    messages = tuple(_edited_message(each, edit, edit_parts) for each in request.messages)
    tools = request.tools
    if tools:
        tools = tuple(
            tool if (new := (edit(tool.description, False), _edited(tool.input_schema, edit))) == (tool.description, tool.input_schema)
            else attrs.evolve(tool, description=new[0], input_schema=new[1])
            for tool in tools
        )  # fmt: skip
    extra = _edited(request.extra, edit) if request.extra else request.extra
    if messages == request.messages and tools == request.tools and extra == request.extra:
        return request
    return attrs.evolve(request, messages=messages, tools=tools, extra=extra)


def _edited_message(message: Message, edit: Edit, edit_parts: Callable[[Sequence[str]], list[str]]) -> Message:
    texts = [part.text for part in message.texts]
    new = edit_parts(texts)
    calls = message.tool_calls
    if calls:
        calls = tuple(attrs.evolve(call, arguments=edit(call.arguments, True)) for call in calls)
    if new == texts and calls == message.tool_calls:
        return message
    remaining = iter(new)
    parts = list[Part]()
    for part in message.parts:
        if not isinstance(part, TextPart):
            parts.append(part)
        elif (text := next(remaining)) or not part.text:  # providers reject a part that became empty
            parts.append(part if part.text == text else TextPart(text, ends_prefix=part.ends_prefix))
    return attrs.evolve(message, parts=tuple(parts), tool_calls=calls)


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for each in value.values():
            yield from _strings(each, depth + 1)
    elif isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        for each in value:
            yield from _strings(each, depth + 1)


def _edited(value: Any, edit: Edit, depth: int = 0) -> Any:
    if isinstance(value, str):
        return edit(value, False)
    if isinstance(value, Mapping) and depth < _MAX_DEPTH:
        new = {key: _edited(each, edit, depth + 1) for key, each in value.items()}
        return value if all(new[key] is each for key, each in value.items()) else new
    if isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        items = [_edited(each, edit, depth + 1) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value
