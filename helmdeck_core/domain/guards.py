"""Guards: checks of requests and answers that block, redact or report. The configuration and the calls are in ``helmdeck_guards``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs
from attrs.validators import instance_of

from helmdeck_core.domain.chat import ChatRequest, ToolCall
from helmdeck_core.domain.event_base import CallRef
from helmdeck_core.domain.secret_patterns import SecretPattern


@attrs.frozen
class GuardFinding:
    """One finding of a guard.

    :ivar kind: what was found, such as ``email``; part of errors, events and placeholders, so it never contains the match itself.
    :ivar start: start of the match in its text; left out with ``stop``: the finding is about the whole subject.
    :ivar stop: end of the match.
    :ivar text: number of the text in ``GuardSubject.texts``.
    """

    kind: str = attrs.field(validator=instance_of(str))
    start: int = attrs.field(default=0, validator=instance_of(int))
    stop: int = attrs.field(default=0, validator=instance_of(int))
    text: int = attrs.field(default=0, validator=instance_of(int))

    @property
    def has_place(self) -> bool:
        """Whether the finding is a part of a text, which can be redacted."""
        return self.stop > self.start


@attrs.frozen(kw_only=True)
class GuardSubject:
    """What a guard checks as a whole.

    :ivar stage: ``request``, ``answer``, or ``stream`` for a part of an answer that is not complete.
    :ivar request: the request, without what earlier guards redacted.
    :ivar texts: the texts of the request in order, or those of the answer.
    :ivar tool_calls: the tool calls of an answer.
    :ivar chars: characters of the whole request, or of the answer so far.
    """

    stage: str
    request: ChatRequest
    texts: tuple[str, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    chars: int = 0


@attrs.frozen(kw_only=True)
class Guard:
    """An open guard: the functions that it implements.

    :ivar find: returns the matches in a text; fast, and without side effects. Streams are searched, too. Overlapping matches count as
        one, and a match without a place in the text blocks.
    :ivar held_from: returns from where the end of a text may be the start of a match, and its length if it cannot be. That part of
        a stream is held back. Left out: streams are held back to their end.
    :ivar find_tool: returns a finding for the name of a tool that is offered or called.
    :ivar check: checks the request or the answer as a whole, for example by a service.
    :ivar window_chars: characters of a stream after which ``check`` is called for its next part, which is held back until then;
        0 holds the whole answer back.
    :ivar max_chars: a longer request or answer is a finding.
    :ivar close: releases what the guard opened.
    """

    find: Callable[[str], Sequence[GuardFinding]] | None = None
    held_from: Callable[[str], int] | None = None
    find_tool: Callable[[str], GuardFinding | None] | None = None
    check: Callable[[GuardSubject], Awaitable[Sequence[GuardFinding]]] | None = None
    window_chars: int = 0
    max_chars: int | None = None
    close: Callable[[], Awaitable[None]] | None = None


@attrs.frozen(kw_only=True)
class GuardServices:
    """What a deck offers to its guards.

    :ivar secret_patterns: the contributed formats of API keys.
    """

    secret_patterns: Sequence[SecretPattern] = ()


@attrs.frozen(kw_only=True)
class GuardSpec:
    """A contributed kind of guard.

    :ivar name: the value of ``kind`` in ``[guards.NAME]``.
    :ivar options: an attrs class whose fields are the keys of ``[guards.NAME.options]``; its validators report mistakes.
    :ivar open: makes a guard from its options, once for each table; raises ``ConfigError`` with every mistake of the options.
    :ivar summary: one line for the reference.
    """

    name: str
    options: type
    open: Callable[[Any, GuardServices], Guard]
    summary: str = ""
    order: int = 0


@attrs.frozen(kw_only=True)
class GuardReported(CallRef):
    """A guard found something, or failed. The event has no part of a text.

    :ivar call_id: empty where the request was blocked before a call.
    :ivar guard: the name of the guard in the configuration.
    :ivar stage: ``request``, ``answer`` or ``stream``.
    :ivar outcome: ``blocked``, ``redacted``, ``flagged``; ``failed_open`` and ``failed_closed`` for a guard that failed.
    :ivar kinds: number of findings by kind.
    :ivar detail: the reason of a failure.
    """

    guard: str
    stage: str
    outcome: str
    kinds: Mapping[str, int]
    detail: str = ""

    @property
    def summary(self) -> str:
        """The event in one line, such as ``pii redacted (email 2)``."""
        found = ", ".join(f"{kind} {count}" for kind, count in self.kinds.items())
        return f"{self.guard} {self.outcome}" + (f" ({found})" if found else "")
