"""Tool-call formats as data, and the results of reading tool calls from text."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.chat import ToolCall


class ToolCallFormatKind(enum.StrEnum):
    """What the marks of a format stand for."""

    CALL = "call"
    """One call, or a JSON list of them."""
    GROUP = "group"
    """Nothing but calls of other formats stands between the marks, which vanish with them."""
    QUOTE = "quote"
    """Nothing between the marks is a call, and it stays visible: declarations, examples."""
    INTRODUCTION = "introduction"
    """No marks: ``head`` matches the line before an example."""
    LEFTOVER = "leftover"
    """A token, or with ``close`` a block, that is removed from the end of the visible text. A block contains no call."""


@attrs.frozen(kw_only=True)
class ToolCallFormat:
    """One way in which models write tool calls as text.

    A call is an opening mark, a match of ``head``, the arguments, and a closing mark. Without ``head``, the JSON after the mark
    contains the name of the tool; it may also be an attribute of the mark, as in ``<run name="search">``.

    :ivar name: unique; reported with each call. Contributing the same name again replaces the format.
    :ivar open: opening marks, case-insensitive. A mark in angle brackets may have attributes; one that starts with a line
        break matches at the start of a line only. If formats share a mark, the first one in order that can read the text
        after the mark is used.
    :ivar close: closing marks, the usual one first. Empty if the arguments end by themselves.
    :ivar needs_close: a call without its closing mark is reported as repaired.
    :ivar is_list: for a group: it contains several calls, so that an unclosed one may be incomplete.
    :ivar head: regular expression for the text between the opening mark and the arguments, with a group ``name`` and
        optionally ``id``. With groups ``key`` and ``value``, it matches a whole call with one argument.
    :ivar argument: regular expression for the start of one argument, with a group ``key``; without it, the arguments are
        JSON. If a group ``json`` matched, the value is JSON, otherwise a string.
    :ivar argument_close: closing mark of an argument. It counts only before the next argument or a closing mark.
    :ivar plain: the name of the argument if the arguments are plain text instead of JSON; empty rejects such text.
    :ivar translate: converts a balanced ``{...}`` that is not JSON into JSON with the name of the tool; returns an empty
        string if it cannot. Pure and linear in the length of its input; never completes truncated text.
    :ivar protocol: for calls in JSON without marks: names of which an outermost object must have one as a key or as its
        ``type``.
    :ivar models: lower-case strings of which one must be in the model id; empty for all models. With strings, a call of an
        unknown tool is prose, and JSON without a mark must be the whole answer.
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


NATIVE = "native"
"""The format of calls in the provider's own field for tool calls."""


@attrs.frozen
class RecoveredCall:
    """A complete call of a known tool.

    :ivar call: id, name and arguments as JSON. The id is the model's own, or generated from the text of the answer.
    :ivar args: the same arguments, parsed.
    :ivar format: the tool-call format; ``native`` for calls in the provider's own field.
    :ivar repairs: repairs of the call: ``unclosed``, ``other_close``, ``extra_brackets``, ``encoded_twice``, ``new_id`` or
        the name of a decode step; empty for a clean call.
    :ivar corrected_from: the name that the model wrote, if it is not exactly that of the tool.
    """

    call: ToolCall
    args: Mapping[str, Any] = EMPTY
    format: str = NATIVE
    repairs: tuple[str, ...] = ()
    corrected_from: str | None = None


@attrs.frozen
class MalformedCall:
    """Text that looks like a tool call but is malformed.

    :ivar name: the name of the tool as the model wrote it; empty if unknown.
    :ivar id: the model's own id of the call, or a generated one, for an error as tool result.
    :ivar problem: ``cut``, ``malformed``, ``no_name``, ``not_an_object``, ``ambiguous``, ``too_deep`` or
        ``unknown_tool``.
    :ivar error: an error message for the model.
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
    """The tool calls of an answer.

    :ivar text: the visible text without tool calls, malformed ones included, and without reasoning; unchanged if the answer
        has neither.
    :ivar calls: the calls that may be executed, in order.
    :ivar withheld: complete calls that must not be executed, because the answer is truncated or its stop reason is another one.
    :ivar broken: malformed calls; the ``error`` of each can be sent to the model.
    :ivar is_cut: a call or a list of calls is truncated.
    :ivar inert: number of call marks that were ignored: in examples, quotations, declarations and reasoning.
    :ivar reasoning: the removed reasoning, for diagnosis.
    """

    text: str
    calls: tuple[RecoveredCall, ...] = ()
    withheld: tuple[RecoveredCall, ...] = ()
    broken: tuple[MalformedCall, ...] = ()
    is_cut: bool = False
    inert: int = 0
    reasoning: str = ""

    @property
    def looks_broken(self) -> bool:
        """Whether all calls are malformed, so that a retry with the errors is worthwhile."""
        return not self.calls and bool(self.broken)
