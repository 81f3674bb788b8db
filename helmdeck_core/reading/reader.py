"""Reads an answer that is not simply one object: rank, fit, salvage, and the failure in the end."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import attrs
import msgspec

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import Decoded, DecodeFailed, DecodeStep, Tried
from helmdeck_core.reading.diagnosis import empty_sub_cause, failure, loop_of
from helmdeck_core.reading.fragments import Found, Fragment, Kind, find_fragments, is_json
from helmdeck_core.reading.reasoning import strip
from helmdeck_core.reading.reasoning_marks import Marks
from helmdeck_core.reading.refusal import RefusalMatcher

T = TypeVar("T")

REFUSED = (ValueError, RecursionError, MemoryError)
"""What a typed decode raises: ``msgspec.DecodeError`` and ``UnicodeEncodeError`` are ``ValueError``."""

_INK = re.compile(r"\S")

_FENCE = re.compile(r"`{2,}+[ ]*+[\w+#-]*+")

_INVISIBLE = re.compile("[\\s\u200b-\u200f\u2060\ufeff]+")

_AFTER_VALUE = re.compile(r"(?:\s|`|</?[\w:.-]++>|<\|[\w/]++\|>)*+\Z")
"""What may follow the one value of an unclosed block: a fence, closing elements, control tokens."""

_ENDED_EARLY = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED, StopReason.SAFETY_BLOCKED))

_CUT_SHORT = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED))

_JOINT = re.compile(r"[\s,;]*+(?:`{3,}[\s,;]*+(?:`{3,}[ ]*+[\w+#-]*+)?[\s,;]*+)?")
"""What may stand between two objects of a list that lost its brackets; a fence may end and another begin."""

_MISSING_BRACKETS = DecodeStep(name="missing_brackets", candidates=lambda _: ())
"""What is reported where objects without brackets are read as the list that was asked for."""

_MAX_MENDED = 8
"""How many broken fragments the decode steps see; an answer has one, and prose full of braces has hundreds."""


@attrs.frozen(eq=False)
class Request(Generic[T]):
    """What a value has to be.

    :ivar read: the typed decoder.
    :ivar fits: a further condition.
    :ivar wants_list: a list is asked for, not an object.
    :ivar tried: is told of every try.
    """

    read: Callable[[str], T]
    fits: Callable[[T], bool] | None
    stop: StopReason | None
    wants_list: bool = False
    tried: Tried | None = None


class Reading(Generic[T]):
    """One answer, read with care and in linear time."""

    def __init__(
        self, text: str, request: Request[T], marks: Marks, steps: Sequence[DecodeStep], refusals: RefusalMatcher
    ) -> None:
        self._text = text
        self._request = request
        self._marks = marks
        self._steps = steps
        self._refusals = refusals
        self._kind = Kind.LIST if request.wants_list else Kind.OBJECT
        self._shape_error: msgspec.ValidationError | None = None

    def run(self) -> Decoded[T]:
        """Find the value.

        :raises DecodeFailed: there is none.
        """
        found = find_fragments(self._text, self._marks, wants_list=self._request.wants_list)
        decoded = self._first_value(found)
        if decoded is None and found.unclosed is not None:
            decoded = self._value_of_unclosed(found)
        elif decoded is None and not found.has_stopped:
            decoded = (self._request.wants_list and self._list_of_objects(found)) or self._salvage(found)
        if decoded is None:
            raise self._failure(found)
        return decoded

    # -- values --------------------------------------------------------------------------------------------

    def _first_value(self, found: Found) -> Decoded[T] | None:
        if found.ends_in_close and self._request.stop in _ENDED_EARLY:
            return None
        for fragment in _by_rank(found.fragments):
            if fragment.kind is self._kind and fragment.is_valid:
                step = self._kind.value if fragment.language is None else "fence"
                decoded = self._fitting(fragment.text, step, found)
                if decoded is not None:
                    return decoded
        return None

    def _value_of_unclosed(self, found: Found) -> Decoded[T] | None:
        """After a regular end, the one object at the very end counts; any other may be a draft."""
        if self._request.stop is not StopReason.END_TURN or found.unclosed is None:
            return None
        behind = find_fragments(self._text, self._marks, found.unclosed.end, wants_list=self._request.wants_list)
        if behind.has_stopped or len(behind.fragments) != 1:
            return None
        [last] = behind.fragments
        if last.kind is not self._kind or not last.is_valid or not _AFTER_VALUE.match(self._text, last.end):
            return None
        found.reasoning.append(self._text[found.unclosed.end : last.start])
        return self._fitting(last.text, self._kind.value, found)

    def _list_of_objects(self, found: Found) -> Decoded[T] | None:
        """A list was asked for: one bare object, or objects one behind the other without the brackets around them."""
        fragments = found.fragments
        if self._request.stop in _ENDED_EARLY or any(fragment.kind is not Kind.OBJECT for fragment in fragments):
            return None
        gaps = (self._text[a.end : b.start] for a, b in itertools.pairwise(fragments))
        if not fragments or not all(map(_JOINT.fullmatch, gaps)):
            return None
        head = self._text[: fragments[0].start]
        if head.count("[") != head.count("]"):  # of a list that was cut, the objects before the cut are not all
            return None
        # Where two objects meet an item ends, so mending may not look over it.
        texts, used = [], [_MISSING_BRACKETS]
        for fragment in fragments:
            text, steps = self._mended_item(fragment)
            texts.append(text)
            used += [step for step in steps if step not in used]
        return self._fitting(f"[{','.join(texts)}]", _MISSING_BRACKETS.name, found, used)

    def _mended_item(self, fragment: Fragment) -> tuple[str, Sequence[DecodeStep]]:
        """The text of one object of a list, mended as far as it has to be."""
        if fragment.is_valid:
            return fragment.text, ()
        text, used = fragment.text, list[DecodeStep]()
        for step in self._steps:
            for candidate in step.candidates(text):
                text = candidate
                used = [*used, step] if step not in used else used
                if is_json(text):
                    return text, used
        return text, used

    def _salvage(self, found: Found) -> Decoded[T] | None:
        fragments = [fragment for fragment in found.fragments if self._may_be_mended(fragment)]
        for fragment in sorted(fragments, key=lambda fragment: fragment.is_foreign)[:_MAX_MENDED]:
            decoded = self._mend(fragment.text, found)
            if decoded is not None:
                return decoded
        return None

    def _may_be_mended(self, fragment: Fragment) -> bool:
        if fragment.is_valid:
            return fragment.kind is not self._kind and not self._request.wants_list
        # Broken text that ends where the model was stopped may only look complete.
        return self._request.stop not in _ENDED_EARLY or bool(_INK.search(self._text, fragment.end))

    def _mend(self, text: str, found: Found) -> Decoded[T] | None:
        """Run the steps in order; each goes on from what the ones before made of the text."""
        used: list[DecodeStep] = []
        for step in self._steps:
            mended = None
            for candidate in step.candidates(text):
                mended = candidate
                decoded = self._fitting(candidate, step.name, found, (*used, step))
                if decoded is not None:
                    return decoded
            if mended is not None:
                text = mended
                used.append(step)
            else:
                self._tell(step.name, "nothing to mend")
        return None

    def _fitting(self, text: str, name: str, found: Found, steps: Sequence[DecodeStep] = ()) -> Decoded[T] | None:
        try:
            value = self._request.read(text)
        except msgspec.ValidationError as error:
            self._shape_error = self._shape_error or error
            self._tell(name, str(error))
            return None
        except REFUSED as error:
            self._tell(name, str(error))
            return None
        if self._request.fits is not None and not self._request.fits(value):
            self._tell(name, "a value, but not one that fits")
            return None
        self._tell(name, "the value")
        repairs = tuple(step.name for step in steps if step.is_repair)
        return Decoded(value, name, repairs, "\n".join(found.reasoning))

    def _tell(self, name: str, outcome: str) -> None:
        if self._request.tried is not None:
            self._request.tried(name, outcome)

    # -- failures ------------------------------------------------------------------------------------------

    def _failure(self, found: Found) -> DecodeFailed:
        stop, text = self._request.stop, self._text
        if found.ends_in_close or not (found.fragments or (found.has_stopped and found.unclosed is None)):
            visible = self._visible(found)
            if not visible:
                has_reasoning = bool(found.reasoning) or found.ends_in_close
                sub_cause = empty_sub_cause(
                    stop, text, has_reasoning=has_reasoning, is_unclosed=found.unclosed is not None
                )
                return failure(stop, sub_cause, text, is_empty=True)
        sub_cause = self._sub_cause(found)
        return failure(stop, sub_cause, text, shape=self._shape_error if sub_cause == "wrong_shape" else None)

    def _visible(self, found: Found) -> str:
        """What is there to read besides reasoning, fences and invisible characters."""
        if found.ends_in_close:
            return ""
        text = self._text if found.unclosed is None else self._text[: found.unclosed.start]
        return _INVISIBLE.sub("", _FENCE.sub("", strip(text, self._marks).text))

    def _sub_cause(self, found: Found) -> str:
        if found.is_too_deep:
            return "too_deep"
        if loop := loop_of(self._text):
            return loop
        if found.is_cut:
            return "cut"
        if self._shape_error is not None and any(fragment.is_valid for fragment in found.fragments):
            return "wrong_shape"
        if found.unclosed is not None:
            return "unclosed_reasoning"
        if found.is_confused or any(not fragment.is_valid for fragment in found.fragments):
            return "malformed"
        if any(fragment.kind is self._kind for fragment in found.fragments):
            return "wrong_shape"  # it decodes, and a further condition does not hold
        if found.fragments or self._is_scalar():
            return "not_a_list" if self._request.wants_list else "not_an_object"
        may_refuse = self._request.stop not in _CUT_SHORT
        is_refusal = may_refuse and self._refusals.matches(strip(self._text, self._marks).text)
        return "refusal" if is_refusal else "no_json"

    def _is_scalar(self) -> bool:
        try:
            msgspec.json.decode(strip(self._text, self._marks).text)
        except REFUSED:
            return False
        return True


def _by_rank(fragments: Sequence[Fragment]) -> Sequence[Fragment]:
    """In the order of the text, but a fence for JSON comes before one for another language."""
    if any(fragment.is_foreign for fragment in fragments) and any(fragment.language for fragment in fragments):
        first = next((fragment for fragment in fragments if fragment.kind is Kind.OBJECT and fragment.is_valid), None)
        if first is not None and first.is_foreign:
            return sorted(fragments, key=lambda fragment: fragment.language is None or fragment.is_foreign)
    return fragments
