"""Decodes a response that is more than one object: ranks fragments, validates, repairs, and diagnoses failures."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import attrs
import msgspec

from helmdeck_core import Decoded, DecodeFailed, DecodeStep, StopReason, Tried, empty_sub_cause, loop_of, undecodable
from helmdeck_reading.decoder.diagnosis import wrong_shape
from helmdeck_reading.decoder.fragments import Fragment, Kind, ScanResult, commented_value, find_fragments
from helmdeck_reading.decoder.reasoning_stripper import JoinedText, strip
from helmdeck_reading.decoder.refusal_matcher import RefusalMatcher
from helmdeck_reading.reasoning_marks import ReasoningMarks
from helmdeck_reading.strict_json import DECODE_ERRORS, describe_rejection, is_float_for_int, is_json, with_integers

T = TypeVar("T")

_NON_SPACE = re.compile(r"\S")

_FENCE = re.compile(r"`{2,}+[ ]*+[\w+#-]*+")

_INVISIBLE = re.compile("[\\s\u200b-\u200f\u2060\ufeff]+")

_AFTER_VALUE = re.compile(r"(?:\s|`|</?[\w:.-]++>|<\|[\w/]++\|>)*+\Z")
"""What may follow the only value of an unclosed block: a fence, closing elements, control tokens."""

_ENDED_EARLY = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED, StopReason.SAFETY_BLOCKED))

_MAY_LACK_ITEMS = _ENDED_EARLY | {StopReason.UNKNOWN, StopReason.CANCELLED}
"""Stop reasons after which objects without brackets may be the start of a longer list."""

_TRUNCATED = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED))

_SEPARATOR = re.compile(r"[\s,;]*+(?:`{3,}[\s,;]*+(?:`{3,}[ ]*+[\w+#-]*+)?[\s,;]*+)?")
"""What may separate two objects of a list without brackets; a fence may end and another start."""

_MISSING_BRACKETS = DecodeStep(name="missing_brackets", candidates=lambda _: ())
"""Reported when objects without brackets are decoded as the requested list."""

_MAX_REPAIRED = 8
"""Maximum invalid fragments passed to the decode steps; prose full of braces has hundreds."""


_MAX_REPAIRED_ITEMS = 64
"""Maximum invalid items of a list without brackets."""


@attrs.frozen(eq=False)
class DecodeRequest(Generic[T]):
    """The requirements for the value.

    :ivar read: the typed decoder.
    :ivar fits: an extra condition.
    :ivar wants_list: a list is expected, not an object.
    :ivar accepts_list: a list is read too, if the response has no object.
    :ivar tried: called for each decode attempt.
    """

    read: Callable[[str], T]
    fits: Callable[[T], bool] | None
    stop: StopReason | None
    wants_list: bool = False
    accepts_list: bool = False
    tried: Tried | None = None


class ResponseDecoder(Generic[T]):
    """Decodes one response in linear time."""

    def __init__(
        self,
        text: str,
        request: DecodeRequest[T],
        marks: ReasoningMarks,
        steps: Sequence[DecodeStep],
        refusals: RefusalMatcher,
    ) -> None:
        self._text = text
        self._request = request
        self._marks = marks
        self._steps = steps
        self._refusals = refusals
        self._kind = Kind.LIST if request.wants_list else Kind.OBJECT
        self._shape_error: msgspec.ValidationError | None = None
        self._repaired: dict[tuple[str, str], Sequence[str]] = {}
        self._stripped_text: str | None = None

    def read(self) -> Decoded[T]:
        """Return the value.

        :raises DecodeFailed: the response contains no such value.
        """
        commented = commented_value(self._text, self._marks)
        if commented is not None:
            scan = ScanResult([commented])
        else:
            scan = find_fragments(self._text, self._marks, wants_list=self._request.wants_list)
        decoded = self._first_value(scan)
        if decoded is None and scan.unclosed is not None:
            decoded = self._value_after_unclosed(scan)
        elif decoded is None and not scan.has_stopped:
            decoded = (self._request.wants_list and self._list_of_objects(scan)) or self._salvage(scan)
        if decoded is None:
            raise self._failure(scan)
        return decoded

    # -- values --------------------------------------------------------------------------------------------

    def _first_value(self, scan: ScanResult) -> Decoded[T] | None:
        if scan.ends_in_close and self._request.stop in _ENDED_EARLY:
            return None
        for fragment in _by_rank(scan.fragments):
            if fragment.kind is self._kind and fragment.is_valid:
                step = self._kind.value if fragment.language is None else "fence"
                decoded = self._decode_candidate(fragment.text, step, scan)
                if decoded is not None:
                    return decoded
        return None

    def _value_after_unclosed(self, scan: ScanResult) -> Decoded[T] | None:
        """If the model ended its turn, a single object at the very end counts; any other may be a draft."""
        if self._request.stop is not StopReason.END_TURN or scan.unclosed is None:
            return None
        rest = find_fragments(self._text, self._marks, scan.unclosed.end, wants_list=self._request.wants_list)
        if rest.has_stopped or len(rest.fragments) != 1:
            return None
        [last] = rest.fragments
        if last.kind is not self._kind or not last.is_valid or not _AFTER_VALUE.match(self._text, last.end):
            return None
        scan.reasoning.append(self._text[scan.unclosed.end : last.start])
        return self._decode_candidate(last.text, self._kind.value, scan)

    def _list_of_objects(self, scan: ScanResult) -> Decoded[T] | None:
        """Decode the requested list from one bare object, or from consecutive objects without brackets."""
        fragments = scan.fragments
        if self._request.stop in _MAY_LACK_ITEMS or any(fragment.kind is not Kind.OBJECT for fragment in fragments):
            return None
        gaps = (self._text[a.end : b.start] for a, b in itertools.pairwise(fragments))
        if not fragments or sum(not fragment.is_valid for fragment in fragments) > _MAX_REPAIRED_ITEMS:
            return None
        if not all(map(_SEPARATOR.fullmatch, gaps)):
            return None
        head = self._text[: fragments[0].start]
        if head.count("[") != head.count("]"):  # a truncated list lacks objects
            return None
        # Each item is repaired separately, so that a repair does not cross an item border.
        texts, used = [], [_MISSING_BRACKETS]
        for fragment in fragments:
            text, steps = self._repaired_item(fragment)
            texts.append(text)
            used += [step for step in steps if step not in used]
        return self._decode_candidate(f"[{','.join(texts)}]", _MISSING_BRACKETS.name, scan, used)

    def _repaired_item(self, fragment: Fragment) -> tuple[str, Sequence[DecodeStep]]:
        """The text of one list item, repaired if necessary."""
        if fragment.is_valid:
            return fragment.text, ()
        text, used = fragment.text, list[DecodeStep]()
        for step in self._steps:
            for candidate in self._candidates(step, text):
                text = candidate
                used = [*used, step] if step not in used else used
                if is_json(text):
                    return text, used
        return text, used

    def _salvage(self, scan: ScanResult) -> Decoded[T] | None:
        fragments = [fragment for fragment in scan.fragments if self._is_repairable(fragment)]
        for fragment in sorted(fragments, key=self._repair_rank)[:_MAX_REPAIRED]:
            decoded = None
            if self._request.accepts_list and fragment.is_valid and fragment.kind is Kind.LIST:
                decoded = self._decode_candidate(fragment.text, Kind.LIST.value, scan)
            decoded = decoded or self._repair(fragment.text, scan)
            if decoded is not None:
                return decoded
        return None

    def _is_repairable(self, fragment: Fragment) -> bool:
        if fragment.is_prose:
            return False
        # Invalid text at the point where the model was stopped may only look complete.
        is_whole = fragment.is_valid or self._request.stop not in _ENDED_EARLY
        return is_whole or bool(_NON_SPACE.search(self._text, fragment.end))

    def _repair_rank(self, fragment: Fragment) -> tuple[bool, bool]:
        """Values of the requested kind were rejected as they are, and can only be wrappers: they come last."""
        return fragment.is_foreign, fragment.is_valid and fragment.kind is self._kind

    def _repair(self, text: str, scan: ScanResult) -> Decoded[T] | None:
        """Run the steps in order; each receives the output of the previous ones."""
        used: list[DecodeStep] = []
        for step in self._steps:
            repaired = None
            for candidate in self._candidates(step, text):
                repaired = candidate
                decoded = self._decode_candidate(candidate, step.name, scan, (*used, step))
                if decoded is not None:
                    return decoded
            if repaired is not None:
                text = repaired
                used.append(step)
            else:
                self._report(step.name, "nothing to repair")
        return None

    def _candidates(self, step: DecodeStep, text: str) -> Sequence[str]:
        """The candidates of a step: those of the last repairs are kept, for an item of a list that is also a value."""
        if (step.name, text) not in self._repaired:
            self._repaired[step.name, text] = tuple(step.candidates(text))
        return self._repaired[step.name, text]

    def _decode_candidate(
        self, text: str, name: str, scan: ScanResult, steps: Sequence[DecodeStep] = ()
    ) -> Decoded[T] | None:
        try:
            value = self._read(text)
        except Exception as error:
            if not isinstance(error, DECODE_ERRORS):
                error = msgspec.ValidationError(describe_rejection(error))
            if isinstance(error, msgspec.ValidationError):
                self._shape_error = self._shape_error or error
            self._report(name, str(error))
            return None
        if self._request.fits is not None and not self._request.fits(value):
            self._report(name, "a value that does not meet the condition")
            return None
        self._report(name, "the value")
        repairs = tuple(step.name for step in steps if step.is_repair)
        return Decoded(value, name, repairs, "\n".join(scan.reasoning))

    def _read(self, text: str) -> T:
        try:
            return self._request.read(text)
        except msgspec.ValidationError as error:
            if not is_float_for_int(error):
                raise
            return self._request.read(with_integers(text))

    def _report(self, name: str, outcome: str) -> None:
        if self._request.tried is not None:
            self._request.tried(name, outcome)

    # -- failures ------------------------------------------------------------------------------------------

    def _failure(self, scan: ScanResult) -> DecodeFailed:
        stop, text = self._request.stop, self._text
        if scan.ends_in_close or not (scan.fragments or (scan.has_stopped and scan.unclosed is None)):
            visible = self._visible_text(scan)
            if not visible:
                has_reasoning = bool(scan.reasoning) or scan.ends_in_close
                sub_cause = empty_sub_cause(
                    stop, text, has_reasoning=has_reasoning, is_unclosed=scan.unclosed is not None
                )
                return undecodable(stop, sub_cause, text, is_empty=True)
        sub_cause = self._sub_cause(scan)
        if sub_cause == "wrong_shape":
            return wrong_shape(stop, text, self._shape_error)
        return undecodable(stop, sub_cause, text)

    def _visible_text(self, scan: ScanResult) -> str:
        """The text without reasoning, fences and invisible characters."""
        return "" if scan.ends_in_close else _INVISIBLE.sub("", _FENCE.sub("", self._stripped(scan)))

    def _stripped(self, scan: ScanResult) -> str:
        """The text without reasoning, up to an unclosed block.

        It is made of what the scan has read, except where marks alone may divide the text otherwise, as in code spans.
        """
        if self._stripped_text is None:
            text = self._text if scan.unclosed is None else self._text[: scan.unclosed.start]
            if scan.fragments or scan.has_skipped_marks or "`" in text:
                self._stripped_text = strip(text, self._marks).text
            else:
                visible, position = JoinedText(), scan.visible_from
                for start, end in [*scan.removed, (len(text), 0)]:
                    if start > position:
                        visible.add(text[position:start])
                    position = end
                self._stripped_text = str(visible)
                if self._marks.search(self._stripped_text):
                    self._stripped_text = strip(text, self._marks).text
        return self._stripped_text

    def _sub_cause(self, scan: ScanResult) -> str:
        if scan.is_too_deep:
            return "too_deep"
        if loop := loop_of(self._text):
            return loop
        if scan.is_truncated:
            return "cut"
        if self._shape_error is not None and any(fragment.is_valid for fragment in scan.fragments):
            return "wrong_shape"
        if scan.unclosed is not None:
            return "unclosed_reasoning"
        if scan.is_unreliable or any(not fragment.is_valid for fragment in scan.fragments):
            return "malformed"
        if any(fragment.kind is self._kind for fragment in scan.fragments):
            return "wrong_shape"  # it decodes but does not meet the condition
        if scan.fragments or self._is_scalar(scan):
            return "not_a_list" if self._request.wants_list else "not_an_object"
        may_refuse = self._request.stop not in _TRUNCATED
        is_refusal = may_refuse and self._refusals.matches(self._stripped(scan))
        return "refusal" if is_refusal else "no_json"

    def _is_scalar(self, scan: ScanResult) -> bool:
        try:
            msgspec.json.decode(self._stripped(scan))
        except DECODE_ERRORS:
            return False
        return True


def _by_rank(fragments: Sequence[Fragment]) -> Sequence[Fragment]:
    """Text order, but JSON fences come before fences for other languages."""
    if any(fragment.is_foreign for fragment in fragments) and any(fragment.language for fragment in fragments):
        first = next((fragment for fragment in fragments if fragment.kind is Kind.OBJECT and fragment.is_valid), None)
        if first is not None and first.is_foreign:
            return sorted(fragments, key=lambda fragment: fragment.language is None or fragment.is_foreign)
    return fragments
