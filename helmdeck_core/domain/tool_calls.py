"""Types of tool-call parsing: formats, and results."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.chat import ChatResponse, StopReason, ToolCall, ToolDefinition
from helmdeck_core.domain.decode import Decoded, ReasoningTag, Stripped


class ToolCallFormatKind(enum.StrEnum):
    """The meaning of the marks of a format."""

    CALL = "call"
    """One call, or a JSON list of them."""
    GROUP = "group"
    """The marks enclose calls of other formats only, and are removed with them."""
    QUOTE = "quote"
    """The marks enclose visible text without calls: declarations, examples."""
    INTRODUCTION = "introduction"
    """No marks: ``head`` matches the line before an example."""
    LEFTOVER = "leftover"
    """A token, or with ``close`` a block without calls, that is removed from the end of the visible text."""


@attrs.frozen(kw_only=True)
class ToolCallFormat:
    """A format in which models write tool calls as text.

    A call is an opening mark, the ``head``, the arguments, and a closing mark. Without ``head``, the tool name is in the
    JSON after the mark, or in an attribute of the mark, as in ``<run name="search">``.

    :ivar name: unique; reported with each call. Contributing the same name again replaces the format.
    :ivar open: the opening marks, case-insensitive. A mark in angle brackets may have attributes; a mark that starts with a
        line break matches only at the start of a line. If formats share a mark, the first one that can parse the text
        after it applies.
    :ivar close: the closing marks, the usual one first. Empty if the end of the arguments ends the call.
    :ivar needs_close: a call without a closing mark is reported as repaired.
    :ivar is_list: for a group: it contains several calls, so an unclosed one may be incomplete.
    :ivar head: a regular expression for the text between the opening mark and the arguments, with a group ``name``, and
        optionally ``id``. With groups ``key`` and ``value`` it matches a whole call with a single argument.
    :ivar argument: a regular expression for the start of an argument, with a group ``key``; without it, the arguments are
        JSON. If a group ``json`` matches, the value is JSON instead of text.
    :ivar argument_close: the mark after an argument; it counts only before the next argument or a closing mark.
    :ivar plain: the name of the single argument if it is plain text instead of JSON; empty rejects plain text.
    :ivar translate: converts a balanced ``{...}`` that is not JSON, or text up to the closing mark that starts like ``f(`` or
        ``f{``, into JSON with the tool name; returns an empty string if it cannot. It must be pure and linear in the length
        of the input, and must not complete truncated text.
    :ivar protocol: for JSON calls without marks: names, one of which the outermost object must have as a key or ``type``.
    :ivar models: lower-case words, one of which the model id must contain; empty for all models. If set, a call of an
        unknown tool is prose, and JSON without marks must be the whole response.
    """

    name: str
    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    kind: ToolCallFormatKind = ToolCallFormatKind.CALL
    needs_close: bool = True
    is_list: bool = False
    head: str = ""
    argument: str = ""
    argument_close: str = ""
    plain: str = ""
    translate: Callable[[str], str] | None = None
    protocol: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    order: int = 0

    @property
    def problem(self) -> str:
        """Why the format cannot be used; empty if it can."""
        if not all((*self.open, *self.close)):
            return "a mark is empty"
        is_introduction = self.kind is ToolCallFormatKind.INTRODUCTION
        for field, source, group in (("head", self.head, "name"), ("argument", self.argument, "key")):
            try:
                groups = re.compile(source, re.IGNORECASE).groupindex
            except re.error as error:
                return f"{field} is not a valid regular expression: {error}"
            if source and group not in groups and not is_introduction:
                return f"{field} has no group {group!r}"
        if bool(self.argument) != bool(self.argument_close):
            return "argument and argument_close require each other"
        if is_introduction:
            return "" if self.head else "an introduction requires a head"
        return "" if self.open or self.protocol else "the format has neither an opening mark nor a protocol"


NATIVE = "native"
"""The format of calls that the provider returned as tool calls."""


@attrs.frozen
class RecoveredCall:
    """A complete call of a known tool.

    :ivar call: id, name and arguments as JSON text. The id is the model's, or derived from the response text.
    :ivar args: the parsed arguments.
    :ivar format: the name of its format; ``native`` for tool calls returned by the provider.
    :ivar repairs: applied repairs: ``unclosed``, ``other_close``, ``extra_brackets``, ``encoded_twice``, ``new_id`` or the
        name of a decode step; empty for a clean call.
    :ivar corrected_from: the name written by the model, if it differs from the tool's name.
    """

    call: ToolCall
    args: Mapping[str, Any] = EMPTY
    format: str = NATIVE
    repairs: tuple[str, ...] = ()
    corrected_from: str | None = None


@attrs.frozen
class MalformedCall:
    """A tool call that cannot be executed.

    :ivar name: the tool name written by the model; empty if unknown.
    :ivar id: the id of the call, generated if the model wrote none, to return an error for it.
    :ivar problem: ``cut``, ``malformed``, ``no_name``, ``not_an_object``, ``ambiguous``, ``too_deep`` or
        ``unknown_tool``.
    :ivar error: error message for the model.
    :ivar excerpt: at most 200 characters of the text, control characters escaped.
    """

    format: str
    problem: str
    error: str
    name: str = ""
    id: str = ""
    excerpt: str = ""


@attrs.frozen(kw_only=True)
class ToolCalls:
    """The tool calls of a response.

    :ivar text: the visible text without reasoning and calls, malformed ones included; unchanged if there are none.
    :ivar calls: the executable calls, in order.
    :ivar withheld: complete calls that must not be executed, because the response is truncated or did not end for tool
        calls.
    :ivar broken: malformed calls, each with an error message for the model.
    :ivar is_truncated: a call, or a list of calls, is truncated.
    :ivar inert: number of ignored marks: in examples, quotations, declarations and reasoning.
    :ivar reasoning: the removed reasoning, for diagnosis.
    """

    text: str
    calls: tuple[RecoveredCall, ...] = ()
    withheld: tuple[RecoveredCall, ...] = ()
    broken: tuple[MalformedCall, ...] = ()
    is_truncated: bool = False
    inert: int = 0
    reasoning: str = ""

    @property
    def looks_broken(self) -> bool:
        """Whether all calls are malformed, so that they should be requested again with the errors."""
        return not self.calls and bool(self.broken)


class ToolCallReader(Protocol):
    """Decides which calls of a response may be executed."""

    def read(
        self,
        text: str,
        *,
        tools: Iterable[str | ToolDefinition] | None = None,
        stop: StopReason | None = None,
        model: str = "",
        partial: bool = False,
    ) -> ToolCalls:
        """Find the calls in a text.

        :param tools: the offered tools; ``None`` accepts every name.
        :param stop: the stop reason; ``None`` if unknown.
        :param model: the model id, for formats of specific models.
        :param partial: also return the complete calls of a truncated response.
        """
        ...

    def judge(
        self,
        response: ChatResponse,
        *,
        tools: Iterable[str | ToolDefinition] | None = None,
        model: str = "",
        partial: bool = False,
    ) -> ToolCalls:
        """Judge the native calls of a response, or else find those in its text; parameters as for ``read``."""
        ...


@attrs.frozen(kw_only=True)
class ToolCallContext:
    """What a tool-call reader is made from.

    :ivar formats: all contributed formats.
    :ivar tags: all contributed reasoning tags.
    :ivar strip: removes reasoning from a text.
    :ivar decode: decodes a JSON object, or a list if the text starts with its bracket, also one that needs repair; raises
        ``DecodeFailed`` without one.
    """

    formats: Sequence[ToolCallFormat]
    tags: Sequence[ReasoningTag]
    strip: Callable[[str], Stripped]
    decode: Callable[[str], Decoded[Any]]


@attrs.frozen(kw_only=True)
class ToolCallReaderSpec:
    """A way to read tool calls. A deck uses the one with the lowest ``order``.

    :ivar open: makes the reader, once per deck; should import its modules itself, to keep start-up fast.
    """

    name: str
    open: Callable[[ToolCallContext], ToolCallReader]
    order: int = 0
