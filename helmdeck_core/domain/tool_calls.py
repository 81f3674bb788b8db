"""Values of tool-call recovery: formats as data, and what reading an answer for calls gives back."""

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
    """No marks: ``head`` is found in the line before an example."""
    LEFTOVER = "leftover"
    """A token, or with ``close`` a block, that is taken off the end of the visible text. Nothing in a block is a call."""


@attrs.frozen(kw_only=True)
class ToolCallFormat:
    """One way in which models write tool calls as text.

    A call is an opening mark, what ``head`` describes, the arguments, and a closing mark. Without ``head`` the JSON
    behind the mark names the tool itself; a mark may also say it as an attribute, as in ``<run name="search">``.

    :ivar name: unique; it is what a found call reports. Contributing the same name again replaces the format.
    :ivar open: the marks that open; letter case does not matter. A mark in angle brackets may carry attributes; one that
        begins with a line break counts at the start of a line only. Several formats may share a mark: the first, in
        their order, that can read what stands behind it does.
    :ivar close: the marks that close it; the first is the usual one. Empty when the arguments end by themselves.
    :ivar needs_close: a call without its closing mark is reported as repaired.
    :ivar is_list: of a group: it holds several calls, so that one that is never closed may lack some.
    :ivar head: a regular expression for what stands between the opening mark and the arguments, with a group ``name``, and
        ``id`` where there is one. With groups ``key`` and ``value`` it is the whole call with its one argument.
    :ivar argument: a regular expression for what opens one argument, with a group ``key``; the arguments are JSON
        without it. A group ``json`` that took part says that the value is JSON, and not text.
    :ivar argument_close: the mark that closes an argument. It counts only where the next argument or a closing mark follows.
    :ivar plain: the name of the one argument when it is not JSON but plain text; empty refuses such a text.
    :ivar translate: makes JSON that names the tool of a balanced ``{...}`` that is none; gives an empty text when it
        cannot. Pure and linear in the length of its input; it never completes what was cut.
    :ivar protocol: for calls in JSON without any mark: the names of which an outermost object must have one as a key, or
        as its ``type``.
    :ivar models: lower-case words of which one must be in the model id; empty for all models. With words, a tool that
        the caller does not know makes the text prose, and JSON without a mark must be the whole answer.
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
"""The format of calls that the provider delivered as such."""


@attrs.frozen
class RecoveredCall:
    """A complete call of a tool, by a name that the caller knows.

    :ivar call: id, name and the JSON text of the arguments. The id is the model's own, or made from the answer's text.
    :ivar args: the same arguments, parsed.
    :ivar format: the format that it was written in; ``native`` for calls that the provider delivered as such.
    :ivar repairs: what was put right: ``unclosed``, ``other_close``, ``extra_brackets``, ``encoded_twice``, ``new_id`` or
        the name of a decode step; empty for a clean call.
    :ivar corrected_from: the name that the model wrote, when it is not the tool's own.
    """

    call: ToolCall
    args: Mapping[str, Any] = EMPTY
    format: str = NATIVE
    repairs: tuple[str, ...] = ()
    corrected_from: str | None = None


@attrs.frozen
class MalformedCall:
    """Text that looks like a call and cannot be one, and why.

    :ivar name: the tool as the model wrote it; empty when it cannot be told.
    :ivar id: the model's own id for the call, or one that was made for it, so that an error can answer it.
    :ivar problem: ``cut``, ``malformed``, ``no_name``, ``not_an_object``, ``ambiguous``, ``too_deep`` or
        ``unknown_tool``.
    :ivar error: the problem in a sentence that can go back to the model.
    :ivar excerpt: at most 200 characters of what was read, control characters escaped.
    """

    format: str
    problem: str
    error: str
    name: str = ""
    id: str = ""
    excerpt: str = ""


@attrs.frozen(kw_only=True)
class ToolCalls:
    """What an answer asks to be run.

    :ivar text: the visible text: without calls, broken ones included, and without reasoning; an answer with neither is
        returned letter for letter.
    :ivar calls: the calls that may be run, in order.
    :ivar withheld: complete calls that must not be run, because the answer was cut or did not end for them.
    :ivar broken: what looks like a call and is none; the ``error`` of each can go back to the model.
    :ivar is_truncated: a call, or a list of calls, was begun and never ended.
    :ivar inert: how many marks of calls were left alone: in examples, quotations, declarations and reasoning.
    :ivar reasoning: reasoning that was stripped, for diagnosis.
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
        """Nothing can be run although something was meant to be: worth asking again, with the errors."""
        return not self.calls and bool(self.broken)
