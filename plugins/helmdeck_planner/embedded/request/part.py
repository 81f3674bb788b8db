"""A part of a request: what one step is to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from helmdeck_language import ACTIONS, Action, Token
from helmdeck_selection import DialogueAct


@attrs.frozen
class ActDone:
    """An act of the past: ``turn`` and ``off`` for "Tom turned off the lamp"."""

    verb: str
    side: str


# What a part asks for whose language the model does not know.
_ANY_ACT: Final = DialogueAct(nothing=0.0, look_up=0.5, change=0.5)


@attrs.frozen
class Part:
    """One part of a request.

    :ivar text: without list numbers, polite words and conjunctions.
    :ivar tokens: of the text.
    :ivar verb: the English verb; empty without one.
    :ivar verb_place: its place in the tokens, -1 without one.
    :ivar is_question: it starts with a question word.
    :ivar is_excluded: it must not be planned.
    :ivar is_inquiry: it asks whether an act is possible or allowed: "can I delete it?".
    :ivar is_wish: it names no act, but a thing that is needed.
    :ivar is_purpose: it only says what for the next part is requested: "I want to compare them, so show me both".
    :ivar is_heading: it only names what the next one acts on: "issue 92 in acme/web: close it".
    :ivar is_withdrawn: it was requested, and then taken back; as a heading, it still says what later parts are about.
    :ivar is_partial: it requests all of a kind but some that the next part excludes: "stop everything except web-1".
    :ivar is_other_object: it names a further object for the verb before it, which has values of its own: no other step takes them.
    :ivar done: the acts that it says were done: "Ann merged PR 7".
    :ivar condition: the words that say when it is requested: "if it rains"; empty without any.
    :ivar act: what it asks for by its wording, lead-ins such as "could you" included.
    :ivar recording: the words that ask to record what it states: "write that down" behind "gave H-4 two litres of syrup".
    :ivar further: arguments of its step that a clause behind it states: "and label it bug".
    """

    text: str
    tokens: tuple[Token, ...]
    verb: str
    verb_place: int
    is_question: bool
    is_excluded: bool
    is_inquiry: bool = False
    is_wish: bool = False
    is_purpose: bool = False
    is_heading: bool = False
    is_withdrawn: bool = False
    is_partial: bool = False
    is_other_object: bool = False
    done: tuple[ActDone, ...] = ()
    condition: str = ""
    act: DialogueAct = _ANY_ACT
    recording: tuple[Token, ...] = ()
    further: Mapping[str, Any] = attrs.field(factory=dict, hash=False)

    @property
    def actions(self) -> frozenset[Action]:
        """What its verb does."""
        return ACTIONS.get(self.verb, frozenset())

    @property
    def only_reads(self) -> bool:
        """Whether it asks something, so that only an entry without an effect may serve it."""
        return self.is_question or self.is_inquiry

    @property
    def content(self) -> tuple[Token, ...]:
        """The tokens without the verb."""
        return tuple(token for place, token in enumerate(self.tokens) if place != self.verb_place)
