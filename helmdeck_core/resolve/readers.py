"""Opens what the plugins contribute to decode responses, read tool calls and join continuations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.continuation import (
    ContinuationAnnouncement,
    ContinuationMerger,
    ContinuationMergerSpec,
    Merged,
    MergeStream,
)
from helmdeck_core.domain.decode import Decoded, Decoder, DecoderSpec, DecodeStep, ReasoningTag, RefusalPattern
from helmdeck_core.domain.tool_calls import (
    ToolCallContext,
    ToolCallFormat,
    ToolCallReader,
    ToolCallReaderSpec,
    ToolCalls,
)
from helmdeck_core.errors import ConfigError, InvalidRequest, Mistake
from helmdeck_core.hooks.calls import Contribution, attributed
from helmdeck_core.hooks.contributions import Contributions


def open_decoder(contributions: Contributions) -> Decoder:
    """Open the decoder with the lowest order. Its methods are not wrapped, since every response passes through them.

    :raises ConfigError: no plugin contributes one.
    :raises PluginError: it cannot be opened.
    """
    contribution = next(iter(contributions.of(DecoderSpec)), None)
    if contribution is None:
        raise ConfigError((Mistake("plugins.disable", "no plugin contributes a decoder"),))
    arguments = (contributions.values_of(kind) for kind in (ReasoningTag, DecodeStep, RefusalPattern))
    opened = attributed(contribution, contribution.value.open, object)(*arguments)
    decoder: Decoder = _with_methods(contribution, opened, "strip", "has_reasoning", "stream", "decode")
    return decoder


def tool_call_reader(contributions: Contributions, decoder: Decoder) -> ToolCallReader:
    """Open the reader of tool calls with the lowest order.

    :raises PluginError: it cannot be opened.
    """
    contribution = next(iter(contributions.of(ToolCallReaderSpec)), None)
    if contribution is None:
        return cast(ToolCallReader, SimpleNamespace(read=_missing, judge=_missing))

    def decode(text: str) -> Decoded[Any]:
        return decoder.decode(text, list if text.startswith("[") else dict, StopReason.END_TURN)

    context = ToolCallContext(
        formats=contributions.values_of(ToolCallFormat),
        tags=contributions.values_of(ReasoningTag),
        strip=decoder.strip,
        decode=decode,
    )
    opened = attributed(contribution, contribution.value.open, object)(context)
    reader: ToolCallReader = _attributed_methods(contribution, opened, read=ToolCalls, judge=ToolCalls)
    return reader


def _with_methods(contribution: Contribution[Any], opened: Any, *names: str) -> Any:
    """What a plugin opened, if it has these methods.

    :raises PluginError: it has not.
    """
    for name in names:
        if not callable(getattr(opened, name, None)):
            spec = f"{type(contribution.value).__name__} {contribution.value.name!r}"
            raise contribution.fault(f"{spec} opened {type(opened).__name__}, which has no method {name}")
    return opened


def _attributed_methods(contribution: Contribution[Any], opened: Any, **returns: type) -> Any:
    """The methods of what a plugin opened, by name with the type of their results; their errors name the plugin."""
    _with_methods(contribution, opened, *returns)
    methods = {name: attributed(contribution, getattr(opened, name), kind) for name, kind in returns.items()}
    return SimpleNamespace(**methods)


def _missing(*_: object, **__: object) -> ToolCalls:
    detail = "no plugin contributes a reader of tool calls; see plugins.disable"
    raise InvalidRequest("tool calls cannot be read", sub_cause="misconfigured", detail=detail)


class _PlainMerger:
    """Joins the texts as they are, where no plugin contributes a merger."""

    def merge(self, answer: str, more: str, *, is_truncated: bool = False) -> Merged:  # noqa: ARG002
        return Merged(answer + more, more)

    def alternatives(self, answer: str, more: str) -> tuple[Merged, ...]:  # noqa: ARG002
        return ()

    def stream(self, answer: str) -> MergeStream:  # noqa: ARG002
        return cast(MergeStream, SimpleNamespace(feed=lambda chunk: chunk, finish=lambda **_: ""))


def continuation_merger(contributions: Contributions) -> ContinuationMerger:
    """Open the merger of continuations with the lowest order.

    :raises PluginError: it cannot be opened.
    """
    contribution = next(iter(contributions.of(ContinuationMergerSpec)), None)
    if contribution is None:
        return _PlainMerger()
    announcements = contributions.values_of(ContinuationAnnouncement)
    opened = attributed(contribution, contribution.value.open, object)(announcements)
    methods = {"merge": Merged, "alternatives": tuple, "stream": object}
    merger: ContinuationMerger = _attributed_methods(contribution, opened, **methods)
    open_stream = merger.stream

    def stream(answer: str) -> MergeStream:
        parts: MergeStream = _attributed_methods(contribution, open_stream(answer), feed=str, finish=str)
        return parts

    merger.stream = stream  # type: ignore[method-assign]
    return merger
