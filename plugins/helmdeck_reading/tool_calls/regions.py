"""Parses the text after an opening mark: a call, a list of calls, a truncated call, or no call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import attrs

from helmdeck_reading.strict_json import DECODE_ERRORS
from helmdeck_reading.tool_calls.payloads import NotACall, RawCall, calls_in, extent_of
from helmdeck_reading.tool_calls.scanner import CompiledFormat, Scanner

RepairJson = Callable[[str], tuple[str, tuple[str, ...]] | None]
"""Returns repaired JSON and the names of the repairs; ``None`` if the JSON cannot be repaired."""

_PREAMBLE = re.compile(r"\s*+(?:```+[\w+-]*+\s*+)?")
_FENCE_END = re.compile(r"\s*+```+")
_SEPARATOR = re.compile(r"[\s,;]*+")
_SPACES = re.compile(r"\s*+")
_EXTRA_BRACKETS = re.compile(r"\s*+[}\]]{1,4}\s*+")
_PARTIAL_NAME = re.compile(r"(?:\n\s*+)?[\w.:/-]{0,100}\Z")
"""A partial name directly after a mark, at the end of the text."""

_NOTATION = re.compile(r"\[?\s*+(?:[\w.:-]{1,200}+(?:\(|\s*+\{)|[\w.:-]{0,200}+\Z)")
"""The start of a call that is neither JSON nor in braces, such as ``f(x="y")``."""

_PLAIN_END = re.compile(r"\n[ \t*]*+(?:\w+:|\s*+\n)|\Z")
"""The end of a plain-text argument: the next labelled line, a blank line, or the end of the text."""


@attrs.frozen
class Region:
    """The parsed region of a mark.

    :ivar end: the end of the region.
    :ivar is_truncated: the text ends inside the region.
    :ivar is_last: the end is uncertain, so the text after the region is ignored.
    :ivar complete: the complete calls of a truncated list.
    """

    end: int
    calls: Sequence[RawCall] = ()
    is_truncated: bool = False
    is_last: bool = False
    complete: Sequence[RawCall] = ()


class RegionReader:
    """Parses the regions of one text.

    :param end: the end of the text or of the enclosing code block.
    :param is_ended: the model is not known to have been stopped; only then is text without a closing mark complete.
    """

    def __init__(self, text: str, end: int, scanner: Scanner, repair: RepairJson, *, is_ended: bool) -> None:
        self._text = text
        self._end = end
        self._scanner = scanner
        self._repair = repair
        self._is_ended = is_ended
        self._expected_close = ""
        self._next_close: dict[re.Pattern[str], re.Match[str] | None] = {}

    def read(self, call_format: CompiledFormat, mark: str, start: int, attributes: Mapping[str, str]) -> Region | None:
        """Parse with one format from the end of its opening mark; ``None`` if the text is not a call in this format."""
        self._expected_close = call_format.close_of(mark)
        name, call_id = attributes.get("name", ""), attributes.get("id", "")
        if call_format.data.head:
            head = call_format.head.match(self._text, start, self._end)
            if head is None:
                return None if call_format.data.models else self._partial_name(start)
            groups = head.groupdict()
            name, call_id = (groups.get("name") or "").strip(), groups.get("id") or ""
            if groups.get("value") is not None:
                return self._whole_in_head(head, name)
            start = head.end()
        elif not name and self._rest_is_blank(start):
            return self._truncated(start)
        if call_format.data.argument:
            return self._elements(call_format, start, name, call_id) if name else None
        if call_format.data.translate is not None:
            return self._translated(call_format, start)
        return self._named(call_format, start, name, call_id) if name else self._unnamed(call_format, start)

    # -- truncated and malformed calls --------------------------------------------------------------------------

    def _rest_is_blank(self, start: int) -> bool:
        space = _SPACES.match(self._text, start, self._end)
        return space is not None and space.end() == self._end == len(self._text)

    def _partial_name(self, start: int) -> Region | None:
        if self._end == len(self._text) and _PARTIAL_NAME.match(self._text, start):
            return self._truncated(start)
        return None

    def _truncated(self, start: int, name: str = "", complete: Sequence[RawCall] = ()) -> Region:
        call = RawCall(name, problem="cut", error="the call is truncated", excerpt=self._text[start : start + 200])
        return Region(self._end, (call,), is_truncated=True, complete=complete)

    def _malformed(self, start: int, end: int | None, name: str, problem: str, error: str) -> Region:
        """A malformed call; without a certain end, the rest of the text may be part of it."""
        call = RawCall(name, problem=problem, error=error, excerpt=self._text[start : start + 200])
        return Region(self._end if end is None else end, (call,), is_last=end is None)

    # -- the end ------------------------------------------------------------------------------------------------

    def _close(self, call_format: CompiledFormat, start: int) -> tuple[int, tuple[str, ...]]:
        """The end of a call whose arguments end at ``start``, and the repairs to report."""
        space = _SPACES.match(self._text, start, self._end)
        position = space.end() if space else start
        if own := call_format.close.match(self._text, position, self._end):
            return own.end(), self._close_repairs(own)
        if other := self._scanner.any_close.match(self._text, position, self._end):
            return other.end(), ("other_close",) if call_format.data.close else ()
        extra = _EXTRA_BRACKETS.match(self._text, start, self._end)
        if extra and (close := self._scanner.any_close.match(self._text, extra.end(), self._end)):
            return close.end(), ("extra_brackets",)
        return start, ("unclosed",) if call_format.data.close and call_format.data.needs_close else ()

    def _close_repairs(self, close: re.Match[str]) -> tuple[str, ...]:
        """The repairs to report for a closing mark of the format, which may not match the opening mark."""
        is_expected = not self._expected_close or "".join(close.group().split()).lower() == self._expected_close
        return () if is_expected else ("other_close",)

    def close_after(self, start: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first closing mark after a position; each part of the text is searched once."""
        known = self._next_close.get(pattern)
        if pattern not in self._next_close or (known and known.start() < start):
            known = self._next_close[pattern] = pattern.search(self._text, start, self._end)
        return known

    # -- arguments as JSON ----------------------------------------------------------------------------------------

    def _lead(self, start: int) -> tuple[int, bool]:
        """The start of the payload, and whether the payload is fenced."""
        lead = _PREAMBLE.match(self._text, start, self._end)
        return (lead.end(), "`" in lead.group()) if lead else (start, False)

    def _after_fence(self, position: int, *, has_fence: bool) -> int:
        end = _FENCE_END.match(self._text, position, self._end) if has_fence else None
        return end.end() if end else position

    def _named(self, call_format: CompiledFormat, start: int, name: str, call_id: str) -> Region | None:
        """Parse a call whose name is known; its arguments are JSON, plain text, or absent."""
        position, has_fence = self._lead(start)
        first = self._text[position : min(position + 1, self._end)]
        if first and first in '{"':
            extent = extent_of(self._text, position, self._end)
            if extent.is_whole:
                end, repairs = self._close(call_format, self._after_fence(extent.end, has_fence=has_fence))
                arguments = self._text[position : extent.end]
                return Region(end, (RawCall(name, call_id, arguments, repairs=repairs),))
            if self._ends_inside(extent.is_truncated):
                return self._truncated(position, name)
            return self._invalid(call_format, position, extent.end, name, call_id)
        if close := call_format.close.match(self._text, position, self._end):
            return Region(close.end(), (RawCall(name, call_id, "{}", repairs=self._close_repairs(close)),))
        if call_format.data.plain and first:
            return self._plain(call_format, start, name, call_id)
        if not first and self._end == len(self._text):
            return self._truncated(start, name)
        return None

    def _ends_inside(self, is_truncated: bool) -> bool:
        return is_truncated and self._end == len(self._text)

    def _plain(self, call_format: CompiledFormat, start: int, name: str, call_id: str) -> Region:
        found = _PLAIN_END.search(self._text, start, self._end)
        end = found.start() if found else self._end
        value = self._text[start:end].strip()
        if end == len(self._text) and not (self._is_ended and value.strip("`")):
            return self._truncated(start, name)
        return Region(end, (RawCall(name, call_id, elements=((call_format.data.plain, value, False),)),))

    def _unnamed(self, call_format: CompiledFormat, start: int) -> Region | None:
        """Parse one or several JSON values that contain the tool names."""
        position, has_fence = self._lead(start)
        calls: list[RawCall] = []
        done = position
        while position < self._end and self._text[position] in "{[":
            extent = extent_of(self._text, position, self._end)
            if not extent.is_whole:
                if self._ends_inside(extent.is_truncated):
                    complete = [*calls, *complete_items(self._text, position, self._end)]
                    return self._truncated(position, complete=complete)
                invalid = self._invalid(call_format, position, extent.end)
                return attrs.evolve(invalid, calls=(*calls, *invalid.calls)) if invalid else None
            try:
                calls += self._calls_of(self._text[position : extent.end])
            except NotACall:
                return None
            done = extent.end
            separator = _SEPARATOR.match(self._text, done, self._end)
            position = separator.end() if separator else done
            if not self._text.startswith("{", position):
                break
        if not calls:
            return None
        end, repairs = self._close(call_format, self._after_fence(done, has_fence=has_fence))
        return Region(end, [attrs.evolve(call, repairs=(*call.repairs, *repairs)) for call in calls])

    def _calls_of(self, text: str) -> list[RawCall]:
        try:
            return calls_in(text)
        except RecursionError:
            return [RawCall(problem="too_deep", error="the call is nested too deeply", excerpt=text[:200])]
        except DECODE_ERRORS as error:
            if repaired := self._repair(text):
                return [attrs.evolve(call, repairs=repaired[1]) for call in calls_in(repaired[0])]
            return [RawCall(problem="malformed", error=f"the call is not JSON: {error}", excerpt=text[:200])]

    def _invalid(
        self, call_format: CompiledFormat, start: int, error_at: int, name: str = "", call_id: str = ""
    ) -> Region | None:
        """Repair invalid JSON if it is balanced, else report it as malformed."""
        at = self._text[error_at : error_at + 20]
        error = f"the JSON of the call is invalid at {at!r}"
        space = _SPACES.match(self._text, error_at, self._end)
        position = space.end() if space else error_at
        for pattern in (call_format.close, self._scanner.any_close):
            if missing := pattern.match(self._text, position, self._end):
                # Only a closing bracket is missing.
                return self._malformed(start, missing.end(), name, "malformed", error)
        end = loose_end(self._text, start, self._end)
        if end is None:
            is_prose = not call_format.data.needs_close and not name
            return None if is_prose else self._malformed(start, None, name, "malformed", error)
        repaired = self._repair(self._text[start:end])
        close_end, repairs = self._close(call_format, self._after_fence(end, has_fence=True))
        if repaired is None:
            return self._malformed(start, close_end, name, "malformed", error)
        try:
            calls = [RawCall(name, call_id, repaired[0])] if name else calls_in(repaired[0])
        except (NotACall, *DECODE_ERRORS):
            return None
        return Region(close_end, [attrs.evolve(call, repairs=(*repaired[1], *repairs)) for call in calls])

    # -- separate arguments and other notations --------------------------------------------------------------------

    def _whole_in_head(self, head: re.Match[str], name: str) -> Region:
        if head.end() == len(self._text) and not self._is_ended:
            return self._truncated(head.start(), name)
        elements = ((head["key"], head["value"].strip(), False),)
        return Region(head.end(), (RawCall(name, elements=elements),))

    def _elements(self, call_format: CompiledFormat, start: int, name: str, call_id: str) -> Region | None:
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
                return self._malformed(start, None, name, "ambiguous", error)
            elements.append((groups["key"].strip(), _unwrapped(value), groups.get("json") is not None))
            space = _SPACES.match(self._text, close.end(), self._end)
            position = space.end() if space else close.end()
        return self._end_of_elements(call_format, start, position, RawCall(name, call_id, elements=tuple(elements)))

    def _never_closed(self, call_format: CompiledFormat, start: int, opening: re.Match[str], name: str) -> Region:
        """An unclosed argument is malformed if the call is closed, else truncated."""
        if self.close_after(opening.end(), call_format.close) is None:
            return self._truncated(start, name)
        return self._malformed(start, None, name, "malformed", f"the argument {opening['key']!r} is never closed")

    def _end_of_elements(self, call_format: CompiledFormat, start: int, position: int, call: RawCall) -> Region | None:
        if own := call_format.close.match(self._text, position, self._end):
            return Region(own.end(), (attrs.evolve(call, repairs=self._close_repairs(own)),))
        if call.elements and (other := self._scanner.any_close.match(self._text, position, self._end)):
            return Region(other.end(), (attrs.evolve(call, repairs=("other_close",)),))
        if position == len(self._text) or (not call.elements and self._partial_name(position)):
            return self._truncated(start, call.name)
        if not call.elements:
            return None
        error = (
            f"the call is not closed after its arguments; it continues with {self._text[position : position + 20]!r}"
        )
        return self._malformed(start, None, call.name, "malformed", error)

    def _unclosed_within(self, call_format: CompiledFormat, value: str) -> str:
        """The opening mark of an unclosed argument inside a value; empty if there is none."""
        opened = [match.group() for match in call_format.argument.finditer(value)]
        if not opened or value.lower().count(call_format.data.argument_close.lower()) >= len(opened):
            return ""
        return opened[0]

    def _translated(self, call_format: CompiledFormat, start: int) -> Region | None:
        position, has_fence = self._lead(start)
        if self._text.startswith("{", position, self._end):
            end = balanced_end(self._text, position, self._end)
            if end is None:
                # JSON, valid or not, starts with a quote and is left to other formats.
                is_other = re.compile(r"\{\s*+[\"'}]").match(self._text, position) or self._end < len(self._text)
                return None if is_other else self._truncated(position)
            calls = self._translation(call_format, position, end)
            end, repairs = self._close(call_format, self._after_fence(end, has_fence=has_fence))
        else:
            if not _NOTATION.match(self._text, position, self._end):
                return None
            close = self.close_after(position, call_format.close)
            calls = self._translation(call_format, position, close.start() if close else self._end)
            if not calls and not close and self._end == len(self._text) and is_open(self._text, position):
                return self._truncated(position)
            end = close.end() if close else self._end
            repairs = ("unclosed",) if not close and call_format.data.needs_close else ()
        if not calls:
            return None
        return Region(end, [attrs.evolve(call, repairs=(*call.repairs, *repairs)) for call in calls])

    def _translation(self, call_format: CompiledFormat, start: int, end: int) -> list[RawCall]:
        """The calls in a part of the text in another notation; empty if it has none."""
        translated = call_format.data.translate(self._text[start:end]) if call_format.data.translate else ""
        try:
            return calls_in(translated) if translated else []
        except (NotACall, *DECODE_ERRORS):
            return []


_NOTATION_TOKEN = re.compile(
    r"""[^"'()\[\]{}]++|"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|(?P<open>[(\[{])|(?P<close>[)\]}])""", re.DOTALL
)


_NEXT_CALL = re.compile(r"[\s,;]*+[\w.:-]{1,200}+(?:\(|\Z)")


def is_open(text: str, start: int) -> bool:
    """Whether the text ends inside the brackets or strings of the call at ``start``, or inside the next call."""
    depth, position = 0, start
    while token := _NOTATION_TOKEN.match(text, position):
        position = token.end()
        depth += bool(token["open"]) - bool(token["close"])
        if token["close"] and depth <= 0 and not _NEXT_CALL.match(text, position):
            return False
    return True


_BRACES = re.compile(r'[^"{}]++|"(?:[^"\\]++|\\.)*+"|[{}]', re.DOTALL)


def balanced_end(text: str, start: int, end: int) -> int | None:
    """The end of the brace at ``start``, ignoring strings; ``None`` if it is not closed."""
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
    """The end of balanced brackets at ``start``, ignoring strings in either quotes; ``None`` if unbalanced."""
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
    """The complete calls of a truncated list."""
    inner = _LIST_OF_CALLS.match(text, start, end)
    position = inner.end() if inner else start
    if text[position : position + 1] != "[":
        return []
    calls: list[RawCall] = []
    while True:
        separator = _SEPARATOR.match(text, position + 1, end)
        position = separator.end() if separator else position + 1
        if position >= end or text[position] != "{":
            return calls
        extent = extent_of(text, position, end)
        if not extent.is_whole:
            return calls
        try:
            calls += calls_in(text[position : extent.end])
        except (NotACall, *DECODE_ERRORS):
            return calls
        position = extent.end - 1


def _unwrapped(value: str) -> str:
    """The value without its surrounding line breaks."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "\n" else value
