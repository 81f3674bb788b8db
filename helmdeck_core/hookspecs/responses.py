"""Hooks for responses: decoding, tool calls, continuation and guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core.hookspecs.markers import hookspec

if TYPE_CHECKING:  # a plugin that imports ``hookimpl`` should not import the types of all hooks
    from helmdeck_core.domain.answer_types import AnswerType
    from helmdeck_core.domain.continuation import ContinuationAnnouncement, ContinuationMergerSpec
    from helmdeck_core.domain.decode import DecoderSpec, DecodeStep, ReasoningTag, RefusalPattern
    from helmdeck_core.domain.guards import GuardSpec
    from helmdeck_core.domain.response_caches import ResponseCacheSpec
    from helmdeck_core.domain.tool_calls import ToolCallFormat, ToolCallReaderSpec


@hookspec
def helmdeck_reasoning_tags() -> Sequence[ReasoningTag]:
    """Contribute marks around reasoning in answers.

    Called once when a deck is made; all tags are compiled into one scanner.

    :returns: Reasoning tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_decoders() -> Sequence[DecoderSpec]:
    """Contribute decoders, which strip reasoning from responses and decode their values.

    Called once when a deck is made; the decoder with the lowest ``order`` is opened. A deck needs one.

    :returns: Decoder specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_decode_steps() -> Sequence[DecodeStep]:
    """Contribute ways to decode an answer that strict decoding rejected.

    Called once when a deck is made; the steps run in ascending order.

    :returns: Decode steps; their names are reported with the decoded value. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_answer_types() -> Sequence[AnswerType]:
    """Contribute kinds of Python types that ``ask`` and ``decode`` accept.

    Called once when a deck is made; the kinds are tried in ascending order.

    :returns: Kinds of types. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_refusal_patterns() -> Sequence[RefusalPattern]:
    """Contribute how models phrase a refusal in prose, by language.

    Called once when a deck is made. The patterns are matched against the first sentences of an answer without a value.

    :returns: Patterns; their names are language tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_tool_call_formats() -> Sequence[ToolCallFormat]:
    """Contribute tool-call formats: how models write tool calls as text, and text that only looks like a call.

    Called once when a deck is made; all formats are compiled into one scanner on first use.

    :returns: Formats; their names are reported with the calls. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_tool_call_readers() -> Sequence[ToolCallReaderSpec]:
    """Contribute readers of tool calls, which find the calls of a response and decide which may be executed.

    Called once when a deck is made; the reader with the lowest ``order`` is opened.

    :returns: Reader specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_continuation_announcements() -> Sequence[ContinuationAnnouncement]:
    """Contribute how models announce that they continue a truncated answer, by language.

    Called once when a deck is made. Announcements are removed from continuations.

    :returns: Announcements; their names are language tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_continuation_mergers() -> Sequence[ContinuationMergerSpec]:
    """Contribute mergers, which join a truncated answer with its continuation.

    Called once when a deck is made; the merger with the lowest ``order`` is opened. Without any, texts are concatenated.

    :returns: Merger specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_guards() -> Sequence[GuardSpec]:
    """Contribute kinds of guards, which check requests and answers.

    Called once when a deck is made. ``[guards.NAME]`` opens a guard of a kind with its options.

    :returns: Kinds of guards. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_response_caches() -> Sequence[ResponseCacheSpec]:
    """Contribute kinds of response caches, which return the answers of earlier calls again.

    Called once when a deck is made; ``CachedDeck`` and the gateway open those that ``[cache] caches`` names. A cache gets the
    tenant with every request, and never returns the answer of another tenant.

    :returns: Specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()
