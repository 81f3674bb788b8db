"""References in pipelines: ``{{inputs.x}}`` and ``{{steps.id.path[0].y}}``; values are never expanded again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import msgspec

from helmdeck_cli import counted

_PATH = re.compile(r"\s*(inputs|steps)((?:\.[\w-]+|\[\d+\])+)\s*")
_PART = re.compile(r"\.([\w-]+)|\[(\d+)\]")
_LITERAL = re.compile(r"\s*'([^']*)'\s*\}\}")

ALLOWED = "{{inputs.NAME}}, {{steps.ID.NAME[0].NAME}}, or {{'...'}} for literal text"


@attrs.frozen
class Reference:
    """A reference to a value.

    :ivar root: ``inputs`` or ``steps``.
    :ivar name: the input or the step.
    :ivar path: keys of objects and places of lists below it.
    """

    root: str
    name: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return f"{self.root}.{self.name}{''.join(parts)}"


class MissingValueError(Exception):
    """A reference has no value.

    :ivar is_input: an optional input was not given; every other value that is missing is a failure.
    """

    def __init__(self, reference: Reference, problem: str, *, is_input: bool = False) -> None:
        self.is_input = is_input
        super().__init__(f"{{{{{reference}}}}}: {problem}")


Part = str | Reference


def parts_of(text: str) -> list[Part]:
    """Split a string into literal text and references.

    :raises ValueError: something between the braces is not a reference.
    """
    parts: list[Part] = []
    end = 0
    while (start := text.find("{{", end)) >= 0:
        if literal := _LITERAL.match(text, start + 2):
            part: Part = literal[1]
            after = literal.end()
        elif (close := text.find("}}", start + 2)) >= 0:
            part, after = _reference(text[start + 2 : close]), close + 2
        else:
            break
        parts += [text[end:start], part]
        end = after
    parts.append(text[end:])
    return [part for part in parts if part != ""]


def _reference(expression: str) -> Part:
    stripped = expression.strip()
    if len(stripped) > 1 and stripped[0] == stripped[-1] == "'":
        return stripped[1:-1]
    match = _PATH.fullmatch(expression)
    if match is None:
        raise ValueError(f"{{{{{expression}}}}} is not a reference")
    parts = [key or int(place) for key, place in _PART.findall(match[2])]
    if not isinstance(parts[0], str):
        raise ValueError(f"{{{{{expression}}}}}: a name follows {match[1]!r}")
    return Reference(match[1], parts[0], tuple(parts[1:]))


def whole_reference(text: str) -> Reference | None:
    """Return the reference that a string consists of; ``None`` if it contains other text."""
    parts = parts_of(text)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Reference) else None


def strings_of(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in a value with its path; keys of objects are not expanded."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from strings_of(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for place, each in enumerate(value):
            yield from strings_of(each, f"{path}[{place}]")


def references_of(value: object) -> list[Reference]:
    """Return every reference in a value that has no mistakes."""
    return [part for _, text in strings_of(value) for part in parts_of(text) if isinstance(part, Reference)]


def expanded(value: Any, values: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return a value with its references replaced.

    A reference alone keeps the type of its value; within text it is rendered. An optional input that was not given removes
    the key of an object, is ``null`` in a list, and empty within text.

    :param values: ``inputs`` and ``steps``, each with values by name.
    :raises MissingValueError: a step has no such output; or, for ``value`` itself, an optional input was not given.
    """
    if isinstance(value, str):
        return _expanded_text(value, values)
    if isinstance(value, Mapping):
        found = {}
        for key, each in value.items():
            try:
                found[key] = expanded(each, values)
            except MissingValueError as exc:
                if not exc.is_input:
                    raise
        return found
    if isinstance(value, (list, tuple)):
        return [_or_else(each, values, None) for each in value]
    return value


def _or_else(value: Any, values: Mapping[str, Mapping[str, Any]], default: Any) -> Any:
    try:
        return expanded(value, values)
    except MissingValueError as exc:
        if exc.is_input:
            return default
        raise


def _expanded_text(text: str, values: Mapping[str, Mapping[str, Any]]) -> Any:
    parts = parts_of(text)
    if len(parts) == 1 and isinstance(parts[0], Reference):
        return _value(parts[0], values)
    rendered = []
    for part in parts:
        if isinstance(part, str):
            rendered.append(part)
            continue
        try:
            value = _value(part, values)
        except MissingValueError as exc:
            if not exc.is_input:
                raise
            value = ""
        rendered.append(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    return "".join(rendered)


def _value(reference: Reference, values: Mapping[str, Mapping[str, Any]]) -> Any:
    table = values[reference.root]
    if reference.name not in table:
        is_input = reference.root == "inputs"
        raise MissingValueError(reference, f"no such {reference.root[:-1]}", is_input=is_input)
    value: Any = table[reference.name]
    where = f"{reference.root}.{reference.name}"
    for part in reference.path:
        if isinstance(part, int):
            if not isinstance(value, (list, tuple)):
                raise MissingValueError(reference, f"{where} is {_kind(value)}, not a list")
            if part >= len(value):
                raise MissingValueError(reference, f"{where} has {counted(len(value), 'item')}")
            value, where = value[part], f"{where}[{part}]"
        else:
            if not isinstance(value, Mapping):
                raise MissingValueError(reference, f"{where} is {_kind(value)}, not an object")
            if part not in value:
                known = ", ".join(map(str, list(value)[:12])) or "nothing"
                raise MissingValueError(reference, f"{where} has no {part!r}; it has: {known}")
            value, where = value[part], f"{where}.{part}"
    return value


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)
