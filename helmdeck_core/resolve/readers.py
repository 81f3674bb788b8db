"""Opens what the plugins contribute to decode responses, read tool calls and join continuations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.continuation import (
    ContinuationAnnouncement,
    ContinuationMerger,
    ContinuationMergerSpec,
    Merged,
    MergeStream,
)
from helmdeck_core.domain.decode import (
    Decoded,
    Decoder,
    DecoderSpec,
    DecodeStep,
    ReasoningTag,
    RefusalPattern,
)
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


@attrs.frozen(eq=False)
class _AttributedReader:
    """A reader whose errors name its plugin."""

    read: Callable[..., ToolCalls]
    judge: Callable[..., ToolCalls]


def tool_call_reader(contributions: Contributions, decoder: Decoder) -> ToolCallReader:
    """Open the reader of tool calls with the lowest order.

    :raises PluginError: it cannot be opened.
    """
    contribution = next(iter(contributions.of(ToolCallReaderSpec)), None)
    if contribution is None:
        return _AttributedReader(_missing, _missing)

    def decode(text: str) -> Decoded[dict[str, Any]]:
        return decoder.decode(text, dict, StopReason.END_TURN)

    context = ToolCallContext(
        formats=contributions.values_of(ToolCallFormat),
        tags=contributions.values_of(ReasoningTag),
        strip=decoder.strip,
        decode=decode,
    )
    opened = attributed(contribution, contribution.value.open, object)(context)
    reader = _with_methods(contribution, opened, "read", "judge")
    return _AttributedReader(
        attributed(contribution, reader.read, ToolCalls), attributed(contribution, reader.judge, ToolCalls)
    )


def _with_methods(contribution: Contribution[Any], opened: Any, *names: str) -> Any:
    """What a plugin opened, if it has these methods.

    :raises PluginError: it has not.
    """
    for name in names:
        if not callable(getattr(opened, name, None)):
            spec = f"{type(contribution.value).__name__} {contribution.value.name!r}"
            raise contribution.fault(f"{spec} opened {type(opened).__name__}, which has no method {name}")
    return opened


def _missing(*_: object, **__: object) -> ToolCalls:
    detail = "no plugin contributes a reader of tool calls; see plugins.disable"
    raise InvalidRequest("tool calls cannot be read", sub_cause="misconfigured", detail=detail)


@attrs.frozen(eq=False)
class _AttributedMerger:
    """A merger whose errors name its plugin."""

    merge: Callable[..., Merged]
    alternatives: Callable[..., tuple[Merged, ...]]
    stream: Callable[..., MergeStream]


@attrs.frozen(eq=False)
class _AttributedStream:
    feed: Callable[..., str]
    finish: Callable[..., str]


class _PlainMerger:
    """Joins the texts as they are, where no plugin contributes a merger."""

    def merge(self, answer: str, more: str, *, is_truncated: bool = False) -> Merged:  # noqa: ARG002
        return Merged(answer + more, more)

    def alternatives(self, answer: str, more: str) -> tuple[Merged, ...]:  # noqa: ARG002
        return ()

    def stream(self, answer: str) -> MergeStream:  # noqa: ARG002
        return _AttributedStream(lambda chunk: chunk, lambda **_: "")


def continuation_merger(contributions: Contributions) -> ContinuationMerger:
    """Open the merger of continuations with the lowest order.

    :raises PluginError: it cannot be opened.
    """
    contribution = next(iter(contributions.of(ContinuationMergerSpec)), None)
    if contribution is None:
        return _PlainMerger()
    announcements = contributions.values_of(ContinuationAnnouncement)
    opened = attributed(contribution, contribution.value.open, object)(announcements)
    merger = _with_methods(contribution, opened, "merge", "alternatives", "stream")
    open_stream = attributed(contribution, merger.stream, object)

    def stream(answer: str) -> MergeStream:
        parts = _with_methods(contribution, open_stream(answer), "feed", "finish")
        return _AttributedStream(attributed(contribution, parts.feed, str), attributed(contribution, parts.finish, str))

    return _AttributedMerger(
        attributed(contribution, merger.merge, Merged), attributed(contribution, merger.alternatives, tuple), stream
    )
