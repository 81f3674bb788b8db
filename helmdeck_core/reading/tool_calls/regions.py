"""Reads what stands behind one opening mark: a call, a list of calls, the beginning of one, or nothing of the kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import attrs

from helmdeck_core.reading.tool_calls.payloads import REFUSED, Inert, RawCall, calls_in, extent_of
from helmdeck_core.reading.tool_calls.scanner import Compiled, Scanner

Mend = Callable[[str], tuple[str, tuple[str, ...]] | None]
"""Makes JSON of damaged JSON, with the names of the repairs; ``None`` when it cannot."""

_LEAD = re.compile(r"\s*+(?:```+[\w+-]*+\s*+)?")
_FENCE_END = re.compile(r"\s*+```+")
_BETWEEN = re.compile(r"[\s,;]*+")
_BLANKS = re.compile(r"\s*+")
_EXTRA = re.compile(r"\s*+[}\]]{1,4}\s*+")
_BEGUN = re.compile(r"(?:\n\s*+)?[\w.:/-]{0,100}\Z")
"""The beginning of a name, directly behind a mark, at the end of the text."""

_PLAIN_END = re.compile(r"\n[ \t*]*+(?:\w+:|\s*+\n)|\Z")
"""Where plain text ends that is an argument: the next labelled line, a blank line, the end."""


@attrs.frozen
class Region:
    """What a mark came to.

    :ivar end: where the text goes on.
    :ivar is_cut: the text ends inside it.
    :ivar is_last: nothing behind it can be told from its inside, so nothing behind it may count.
    :ivar complete: of a list that was cut, the calls before the cut.
    """

    end: int
    calls: Sequence[RawCall] = ()
    is_cut: bool = False
    is_last: bool = False
    complete: Sequence[RawCall] = ()


class RegionReader:
    """Reads regions of one text.

    :param end: where the text ends, or the code that is read.
    :param is_ended: nobody says that the model was stopped; text that no mark ends is complete only then.
    """

    def __init__(self, text: str, end: int, scanner: Scanner, mend: Mend, *, is_ended: bool) -> None:
        self._text = text
        self._end = end
        self._scanner = scanner
        self._mend = mend
        self._is_ended = is_ended
        self._usual_close = ""
        self._next_close: dict[re.Pattern[str], re.Match[str] | None] = {}

    def read(self, call_format: Compiled, mark: str, start: int, attributes: Mapping[str, str]) -> Region | None:
        """Read by one format from behind its opening mark; ``None`` when this is none of its calls."""
        self._usual_close = call_format.close_of(mark)
        name, call_id = attributes.get("name", ""), attributes.get("id", "")
        if call_format.data.head:
            head = call_format.head.match(self._text, start, self._end)
            if head is None:
                return None if call_format.data.models else self._begun(start)
            groups = head.groupdict()
            name, call_id = (groups.get("name") or "").strip(), groups.get("id") or ""
            if groups.get("value") is not None:
                return self._whole_in_head(head, name)
            start = head.end()
        elif not name and self._rest_is_blank(start):
            return self._cut(start)
        if call_format.data.argument:
            return self._elements(call_format, start, name, call_id) if name else None
        if call_format.data.translate is not None:
            return self._translated(call_format, start)
        return self._named(call_format, start, name, call_id) if name else self._unnamed(call_format, start)

    # -- what is not there --------------------------------------------------------------------------------------

    def _rest_is_blank(self, start: int) -> bool:
        blanks = _BLANKS.match(self._text, start, self._end)
        return blanks is not None and blanks.end() == self._end == len(self._text)

    def _begun(self, start: int) -> Region | None:
        if self._end == len(self._text) and _BEGUN.match(self._text, start):
            return self._cut(start)
        return None

    def _cut(self, start: int, name: str = "", complete: Sequence[RawCall] = ()) -> Region:
        call = RawCall(
            name, problem="cut", error="the call ends in the middle", excerpt=self._text[start : start + 200]
        )
        return Region(self._end, (call,), is_cut=True, complete=complete)

    def _broken(self, start: int, end: int | None, name: str, problem: str, error: str) -> Region:
        """A broken call; without an end that is certain, whatever stands behind may be a part of it."""
        call = RawCall(name, problem=problem, error=error, excerpt=self._text[start : start + 200])
        return Region(self._end if end is None else end, (call,), is_last=end is None)

    # -- the end ------------------------------------------------------------------------------------------------

    def _close(self, call_format: Compiled, start: int) -> tuple[int, tuple[str, ...]]:
        """The end of a call whose arguments end here, and what is to be reported of it."""
        blanks = _BLANKS.match(self._text, start, self._end)
        position = blanks.end() if blanks else start
        if own := call_format.close.match(self._text, position, self._end):
            return own.end(), self._oddity_of(own)
        if other := self._scanner.any_close.match(self._text, position, self._end):
            return other.end(), ("other_close",) if call_format.data.close else ()
        extra = _EXTRA.match(self._text, start, self._end)
        if extra and (close := self._scanner.any_close.match(self._text, extra.end(), self._end)):
            return close.end(), ("extra_brackets",)
        return start, ("unclosed",) if call_format.data.close and call_format.data.needs_close else ()

    def _oddity_of(self, close: re.Match[str]) -> tuple[str, ...]:
        """What is to be reported of a closing mark of the format: it may belong to another of the opening marks."""
        is_usual = not self._usual_close or "".join(close.group().split()).lower() == self._usual_close
        return () if is_usual else ("other_close",)

    def close_behind(self, start: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first closing mark behind a position; each stretch of text is searched once."""
        known = self._next_close.get(pattern)
        if pattern not in self._next_close or (known and known.start() < start):
            known = self._next_close[pattern] = pattern.search(self._text, start, self._end)
        return known

    # -- arguments as JSON ----------------------------------------------------------------------------------------

    def _lead(self, start: int) -> tuple[int, bool]:
        """Where the payload starts, and whether it stands in a fence of its own."""
        lead = _LEAD.match(self._text, start, self._end)
        return (lead.end(), "`" in lead.group()) if lead else (start, False)

    def _behind_fence(self, position: int, *, has_fence: bool) -> int:
        end = _FENCE_END.match(self._text, position, self._end) if has_fence else None
        return end.end() if end else position

    def _named(self, call_format: Compiled, start: int, name: str, call_id: str) -> Region | None:
        """The name is known; what follows are its arguments as JSON, as plain text, or none."""
        position, has_fence = self._lead(start)
        first = self._text[position : min(position + 1, self._end)]
        if first and first in '{"':
            extent = extent_of(self._text, position, self._end)
            if extent.is_whole:
                end, repairs = self._close(call_format, self._behind_fence(extent.end, has_fence=has_fence))
                arguments = self._text[position : extent.end]
                return Region(end, (RawCall(name, call_id, arguments, repairs=repairs),))
            if self._is_cut(extent.is_cut):
                return self._cut(position, name)
            return self._damaged(call_format, position, extent.end, name, call_id)
        if close := call_format.close.match(self._text, position, self._end):
            return Region(close.end(), (RawCall(name, call_id, "{}", repairs=self._oddity_of(close)),))
        if call_format.data.plain and first:
            return self._plain(call_format, start, name, call_id)
        if not first and self._end == len(self._text):
            return self._cut(start, name)
        return None

    def _is_cut(self, is_cut: bool) -> bool:
        return is_cut and self._end == len(self._text)

    def _plain(self, call_format: Compiled, start: int, name: str, call_id: str) -> Region:
        found = _PLAIN_END.search(self._text, start, self._end)
        end = found.start() if found else self._end
        if end == len(self._text) and not self._is_ended:
            return self._cut(start, name)
        value = self._text[start:end].strip()
        return Region(end, (RawCall(name, call_id, elements=((call_format.data.plain, value, False),)),))

    def _unnamed(self, call_format: Compiled, start: int) -> Region | None:
        """JSON that names the tools: one value or several."""
        position, has_fence = self._lead(start)
        calls: list[RawCall] = []
        done = position
        while position < self._end and self._text[position] in "{[":
            extent = extent_of(self._text, position, self._end)
            if not extent.is_whole:
                if self._is_cut(extent.is_cut):
                    complete = [*calls, *complete_items(self._text, position, self._end)]
                    return self._cut(position, complete=complete)
                damaged = self._damaged(call_format, position, extent.end)
                return attrs.evolve(damaged, calls=(*calls, *damaged.calls)) if damaged else None
            try:
                calls += self._calls_of(self._text[position : extent.end])
            except Inert:
                return None
            done = extent.end
            between = _BETWEEN.match(self._text, done, self._end)
            position = between.end() if between else done
            if not self._text.startswith("{", position):
                break
        if not calls:
            return None
        end, repairs = self._close(call_format, self._behind_fence(done, has_fence=has_fence))
        return Region(end, [attrs.evolve(call, repairs=(*call.repairs, *repairs)) for call in calls])

    def _calls_of(self, text: str) -> list[RawCall]:
        try:
            return calls_in(text)
        except RecursionError:
            return [RawCall(problem="too_deep", error="the call is nested too deeply", excerpt=text[:200])]
        except REFUSED as error:
            if mended := self._mend(text):
                return [attrs.evolve(call, repairs=mended[1]) for call in calls_in(mended[0])]
            return [RawCall(problem="malformed", error=f"the call is not JSON: {error}", excerpt=text[:200])]

    def _damaged(
        self, call_format: Compiled, start: int, broken_at: int, name: str = "", call_id: str = ""
    ) -> Region | None:
        """Something like JSON that stops to be JSON: mended where it is balanced, or broken."""
        at = self._text[broken_at : broken_at + 20]
        error = f"the JSON of the call is broken at {at!r}"
        blanks = _BLANKS.match(self._text, broken_at, self._end)
        position = blanks.end() if blanks else broken_at
        for pattern in (call_format.close, self._scanner.any_close):
            if missing := pattern.match(self._text, position, self._end):
                # Right as far as it went: only a bracket is missing.
                return self._broken(start, missing.end(), name, "malformed", error)
        end = loose_end(self._text, start, self._end)
        if end is None:
            is_prose = not call_format.data.needs_close and not name
            return None if is_prose else self._broken(start, None, name, "malformed", error)
        mended = self._mend(self._text[start:end])
        close_end, repairs = self._close(call_format, self._behind_fence(end, has_fence=True))
        if mended is None:
            return self._broken(start, close_end, name, "malformed", error)
        try:
            calls = [RawCall(name, call_id, mended[0])] if name else calls_in(mended[0])
        except (Inert, *REFUSED):
            return None
        return Region(close_end, [attrs.evolve(call, repairs=(*mended[1], *repairs)) for call in calls])

    # -- arguments one by one, and other notations ------------------------------------------------------------------

    def _whole_in_head(self, head: re.Match[str], name: str) -> Region:
        if head.end() == len(self._text) and not self._is_ended:
            return self._cut(head.start(), name)
        elements = ((head["key"], head["value"].strip(), False),)
        return Region(head.end(), (RawCall(name, elements=elements),))

    def _elements(self, call_format: Compiled, start: int, name: str, call_id: str) -> Region | None:
        elements: list[tuple[str, str, bool]] = []
        position, _ = self._lead(start)
        while opening := call_format.argument.match(self._text, position, self._end):
            close = call_format.value_end.search(self._text, opening.end(), self._end)
            if close is None:
                return self._never_closed(call_format, start, opening, name)
            value = self._text[opening.end() : close.start()]
            groups = opening.groupdict()
            if nested := self._unclosed_within(call_format, value):
                error = f"the argument {groups['key']!r} is not closed before {nested!r}"
                return self._broken(start, None, name, "ambiguous", error)
            elements.append((groups["key"].strip(), _unwrapped(value), groups.get("json") is not None))
            blanks = _BLANKS.match(self._text, close.end(), self._end)
            position = blanks.end() if blanks else close.end()
        return self._end_of_elements(call_format, start, position, RawCall(name, call_id, elements=tuple(elements)))

    def _never_closed(self, call_format: Compiled, start: int, opening: re.Match[str], name: str) -> Region:
        """An argument without its end: forgotten where the call itself is closed, else cut."""
        if self.close_behind(opening.end(), call_format.close) is None:
            return self._cut(start, name)
        return self._broken(start, None, name, "malformed", f"the argument {opening['key']!r} is never closed")

    def _end_of_elements(self, call_format: Compiled, start: int, position: int, call: RawCall) -> Region | None:
        if own := call_format.close.match(self._text, position, self._end):
            return Region(own.end(), (attrs.evolve(call, repairs=self._oddity_of(own)),))
        if call.elements and (other := self._scanner.any_close.match(self._text, position, self._end)):
            return Region(other.end(), (attrs.evolve(call, repairs=("other_close",)),))
        if position == len(self._text) or (not call.elements and self._begun(position)):
            return self._cut(start, call.name)
        if not call.elements:
            return None
        error = (
            f"the call is not closed behind its arguments, but goes on with {self._text[position : position + 20]!r}"
        )
        return self._broken(start, None, call.name, "malformed", error)

    def _unclosed_within(self, call_format: Compiled, value: str) -> str:
        """The opening of an argument inside a value, if nothing in the value closes it; empty when there is none."""
        opened = [match.group() for match in call_format.argument.finditer(value)]
        if not opened or value.lower().count(call_format.data.argument_close.lower()) >= len(opened):
            return ""
        return opened[0]

    def _translated(self, call_format: Compiled, start: int) -> Region | None:
        position, has_fence = self._lead(start)
        if self._text[position : position + 1] != "{" or call_format.data.translate is None:
            return None
        end = balanced_end(self._text, position, self._end)
        if end is None:
            # JSON, damaged or not, begins with a quote and is left to others.
            is_other = re.compile(r"\{\s*+[\"'}]").match(self._text, position) or self._end < len(self._text)
            return None if is_other else self._cut(position)
        translated = call_format.data.translate(self._text[position:end])
        if not translated:
            return None
        try:
            calls = calls_in(translated)
        except (Inert, *REFUSED):
            return None
        end, repairs = self._close(call_format, self._behind_fence(end, has_fence=has_fence))
        return Region(end, [attrs.evolve(call, repairs=(*call.repairs, *repairs)) for call in calls])


_BRACES = re.compile(r'[^"{}]++|"(?:[^"\\]++|\\.)*+"|[{}]', re.DOTALL)


def balanced_end(text: str, start: int, end: int) -> int | None:
    """Where the brace that opens here is closed, strings apart; ``None`` when it never is."""
    depth, position = 0, start
    while token := _BRACES.match(text, position, end):
        position = token.end()
        if token.group() == "{":
            depth += 1
        elif token.group() == "}":
            depth -= 1
            if depth == 0:
                return position
    return None


_LOOSE = re.compile(
    r"""[^"'{}\[\]]++|"(?:[^"\\]++|\\.)*+"|'(?<=[\[{,:(=\s]')(?:[^'\\\n]++|\\.)*+'|'(?<![\[{,:(=\s]')|[{}\[\]]""",
    re.DOTALL,
)


def loose_end(text: str, start: int, end: int) -> int | None:
    """Where something like JSON is balanced, strings in either quotes apart; ``None`` when it never is."""
    depth, position = 0, start
    while token := _LOOSE.match(text, position, end):
        position = token.end()
        if token.group() in ("{", "["):
            depth += 1
        elif token.group() in ("}", "]"):
            depth -= 1
            if depth == 0:
                return position
    return None


_LIST_OF_CALLS = re.compile(r'\{[^{}\[\]]*?"\w*calls?"\s*:\s*(?=\[)')


def complete_items(text: str, start: int, end: int) -> list[RawCall]:
    """The calls of a list that was cut, as far as they are complete."""
    inner = _LIST_OF_CALLS.match(text, start, end)
    position = inner.end() if inner else start
    if text[position : position + 1] != "[":
        return []
    calls: list[RawCall] = []
    while True:
        between = _BETWEEN.match(text, position + 1, end)
        position = between.end() if between else position + 1
        if position >= end or text[position] != "{":
            return calls
        extent = extent_of(text, position, end)
        if not extent.is_whole:
            return calls
        try:
            calls += calls_in(text[position : extent.end])
        except (Inert, *REFUSED):
            return calls
        position = extent.end - 1


def _unwrapped(value: str) -> str:
    """A value without the line breaks that set it on lines of its own."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "\n" else value
