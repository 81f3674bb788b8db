"""The provider ``scripted``: replies from the configuration and fails on demand, to test how a deck reacts.

::

    [providers.scripted.options]
    replies = ["{...}", {fail = "rate_limited", retry_after_s = 2.0}, {text = "half", stop_reason = "length"}]
    # or: file = "replies.jsonl", one of the same per line

The implementation is ``helmdeck_testing.scripted``, which applications use in their tests. It is imported when the
provider is opened, so that other applications never load it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from helmdeck_core import InvalidRequest, Mistake, Provider, ProviderContext, ProviderSettings, ProviderSpec, hookimpl
from helmdeck_providers import checked_options, provider_options, refused_setting

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
_SHAPES = "a string, {text = ...}, {fail = CAUSE} or {mode = NAME}"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The scripted provider."""
    return [ProviderSpec(name="scripted", open=_open, summary="scripted replies from the configuration, for tests")]


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.scripted.options]``.

    :ivar replies: entries of the script.
    :ivar file: path of a file with one more entry per line.
    """

    replies: tuple[Any, ...] = ()
    file: str | None = None


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_testing.scripted import Scripted

    options, where = provider_options(settings, Options), ("providers", settings.name, "options")
    replies = [read_reply(value, *where, "replies", str(number)) for number, value in enumerate(options.replies)]
    if options.file is not None:
        replies += [read_reply(value, place) for place, value in _lines(options.file, settings)]
    if not replies:
        place = ".".join(where)
        detail = f"set {place}.replies or {place}.file"
        raise InvalidRequest(f"provider {settings.name!r} has no replies", sub_cause="misconfigured", detail=detail)
    return Scripted(replies, settings.name, lambda raw: context.normalise_stop(raw, ""))


def read_reply(value: object, *where: str) -> Item:
    """Read one entry of a script from plain data.

    :param where: location named in errors, as keys.
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
    if "fail" in value:
        renamed = {"cause" if key == "fail" else key: each for key, each in value.items()}
        return checked_options(renamed, scripted.Fail, *where)
    return checked_options(value, scripted.Reply, *where)


def _lines(path: str, settings: ProviderSettings) -> Iterator[tuple[str, object]]:
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise refused_setting(settings, "options.file", f"{path!r} cannot be read ({exc})") from exc
    for number, line in enumerate(lines, 1):
        if line.strip():
            place = f"{path}:{number}"
            try:
                yield place, msgspec.json.decode(line)
            except msgspec.DecodeError as exc:
                raise _refused((place,), f"not JSON ({exc})") from exc


def _refused(where: tuple[str, ...], problem: str) -> InvalidRequest:
    place = ".".join(where)
    mistakes = (Mistake(place, problem),)
    return InvalidRequest(f"{place} cannot be used", sub_cause="misconfigured", detail=problem, mistakes=mistakes)
