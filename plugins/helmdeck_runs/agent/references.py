"""References of arguments to outputs of earlier steps: ``{{steps.2.artifacts[0].path}}``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

_REFERENCE = re.compile(r"\{\{\s*steps\.(\d{1,4})((?:\.[A-Za-z0-9_-]{1,100}|\[\d{1,6}\]){0,20})\s*\}\}")
_PART = re.compile(r"[A-Za-z0-9_-]+")

MAX_NESTING = 64
MAX_KEYS = 12


class MissingReferenceError(ValueError):
    """A reference names a step without an output, or a part that the output does not have."""


def has_references(value: Any) -> bool:
    """Whether arguments contain references."""
    return _REFERENCE.search(msgspec.json.encode(value).decode()) is not None


def resolve(
    value: Any,
    outputs: Mapping[int, Any],
    is_literal: Callable[[str], bool] = lambda _: False,
    levels: int = MAX_NESTING,
) -> Any:
    """Return arguments with the outputs in place of references. An output is never expanded itself.

    A string that is only a reference becomes the output with its type; a reference within a text becomes text.

    :param outputs: outputs by number of the step.
    :param is_literal: whether a reference is left as it is, because it was copied from the request or from an output.
    :raises MissingReferenceError: the message lists the available steps or fields.
    """
    if levels == 0:
        raise MissingReferenceError("the arguments are nested too deeply")
    if isinstance(value, Mapping):
        return {key: resolve(each, outputs, is_literal, levels - 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolve(each, outputs, is_literal, levels - 1) for each in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value.strip())
    if whole is not None and not is_literal(whole[0]):
        return _lookup(whole, outputs)
    return _REFERENCE.sub(lambda match: match[0] if is_literal(match[0]) else _text(_lookup(match, outputs)), value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _lookup(match: re.Match[str], outputs: Mapping[int, Any]) -> Any:
    number = int(match[1])
    if number not in outputs:
        known = ", ".join(map(str, outputs)) or "none"
        raise MissingReferenceError(f"{match[0]}: step {number} has no output; steps with an output: {known}")
    value = outputs[number]
    for part in _PART.findall(match[2]):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif _is_list(value) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise MissingReferenceError(f"{match[0]}: there is no {part!r}; there is {_known(value)}")
    return value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _known(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(map(repr, list(value)[:MAX_KEYS])) or "nothing"
    return f"a list of {len(value)}" if _is_list(value) else f"a value of type {type(value).__name__}"
