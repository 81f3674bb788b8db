"""The provider ``scripted``: replies from the configuration and fails on demand, to test how a deck reacts.

::

    [providers.scripted.options]
    replies = ["{...}", {fail = "rate_limited", retry_after_s = 2.0}, {text = "half", stop_reason = "length"}]
    # or: file = "replies.jsonl", one of the same per line

The implementation is ``helmdeck_testing.scripted``, which applications use in their tests. It is imported when the
provider is opened, so that other applications never load it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helmdeck_core import InvalidRequest, Provider, ProviderContext, ProviderSettings, ProviderSpec, Usage, hookimpl

if TYPE_CHECKING:
    from helmdeck_testing.scripted import Item

_MODES = (
    "empty_stop",
    "empty_content_filter",
    "empty_length",
    "cut_json",
    "draft_in_reasoning",
    "whitespace_loop",
    "error_in_200",
    "empty_error",
    "no_end",
    "endless_thinking",
    "too_many_requests",
)
_REPLY_KEYS: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "stop_reason": (str,),
    "reasoning": (str,),
    "served_model": (str,),
    "delay_s": (int, float),
    "piece_chars": (int,),
    "piece_delay_s": (int, float),
    "breaks_after": (int,),
    "usage": (dict,),
}
_FAIL_KEYS: Mapping[str, tuple[type, ...]] = {
    "fail": (str,),
    "retry_after_s": (int, float),
    "status": (int,),
    "detail": (str,),
    "sub_cause": (str,),
}
_SHAPES = "a string, {text = ...}, {fail = CAUSE} or {mode = NAME}"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The scripted provider."""
    return [ProviderSpec(name="scripted", open=_open, summary="scripted replies from the configuration, for tests")]


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_testing.scripted import Scripted

    replies = [read_reply(value, where) for where, value in _values(settings)]
    if not replies:
        where = f"providers.{settings.name}.options"
        raise InvalidRequest(
            f"provider {settings.name!r} has no replies",
            provider=settings.name,
            sub_cause="misconfigured",
            detail=f"set {where}.replies or {where}.file",
        )
    return Scripted(replies, settings.name, lambda raw: context.normalise_stop(raw, ""))


def read_reply(value: object, where: str) -> Item:
    """Read one entry of a script from plain data.

    :param where: location named in errors.
    :raises InvalidRequest: the entry is invalid.
    """
    from helmdeck_testing import scripted

    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise _refused(where, f"not {_SHAPES}")
    if "mode" in value:
        if set(value) != {"mode"} or value["mode"] not in _MODES:
            raise _refused(where, f"unknown mode; modes: {', '.join(_MODES)}")
        item: Item = getattr(scripted, value["mode"])()
        return item
    _check(value, _FAIL_KEYS if "fail" in value else _REPLY_KEYS, where)
    try:
        if "fail" in value:
            return scripted.Fail(value["fail"], **{key: value[key] for key in value if key != "fail"})
        usage = Usage(**value.get("usage", {}))
        return scripted.Reply(**{**value, "usage": usage})
    except (TypeError, ValueError) as exc:  # an unknown cause, or an unknown field of usage
        raise _refused(where, str(exc)) from exc


def _check(value: Mapping[str, Any], keys: Mapping[str, tuple[type, ...]], where: str) -> None:
    for key, found in value.items():
        if key not in keys:
            raise _refused(where, f"unknown key {key!r}; {_SHAPES}; keys: {', '.join(keys)}")
        # JSON has null for a missing stop reason; in TOML it is "".
        if not isinstance(found, keys[key]) and not (key == "stop_reason" and found is None):
            raise _refused(where, f"{key} is a {type(found).__name__}")


def _values(settings: ProviderSettings) -> list[tuple[str, object]]:
    prefix = f"providers.{settings.name}.options"
    options = settings.options
    unknown = sorted(set(options) - {"replies", "file"})
    if unknown:
        raise _refused(prefix, f"unknown option {unknown[0]!r}; options: replies, file")
    replies = options.get("replies", [])
    if not isinstance(replies, Sequence) or isinstance(replies, str):
        raise _refused(f"{prefix}.replies", "not a list")
    values = [(f"{prefix}.replies[{number}]", value) for number, value in enumerate(replies)]
    return values + (_lines(options["file"], f"{prefix}.file") if "file" in options else [])


def _lines(path: object, where: str) -> list[tuple[str, object]]:
    if not isinstance(path, str):
        raise _refused(where, "not a path")
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise _refused(where, f"{path!r} cannot be read ({exc})") from exc
    values: list[tuple[str, object]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                values.append((f"{path}:{number}", msgspec.json.decode(line)))
            except msgspec.DecodeError as exc:
                raise _refused(f"{path}:{number}", f"not JSON ({exc})") from exc
    return values


def _refused(where: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{where} cannot be used", sub_cause="misconfigured", detail=problem, setting=where)
