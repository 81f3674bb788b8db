"""Walks over an answer once, from left to right, and tells calls from everything that only looks like one.

JSON values, code, quotations and reasoning are passed as wholes, so that a mark inside of them means nothing; a mark of
reasoning inside a call's arguments means nothing either.
"""

from __future__ import annotations

import re

import attrs

from helmdeck_core.domain.tool_calls import ToolCallFormat, ToolCallFormatKind
from helmdeck_core.reading.reasoning_marks import Mark
from helmdeck_core.reading.tool_calls.payloads import (
    REFUSED,
    Inert,
    RawCall,
    calls_in,
    content_of,
    extent_of,
    is_protocol,
)
from helmdeck_core.reading.tool_calls.regions import Region, RegionReader, complete_items, loose_end
from helmdeck_core.reading.tool_calls.scanner import Compiled, Sign
from helmdeck_core.reading.tool_calls.walk_result import Setting, Walked, Written

_ATTRIBUTE = re.compile(r"""([\w:.-]{1,64})\s*+=\s*+(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>/]+))""")
_CODE = re.compile(r"(?P<ticks>`+)(?P<language>[^\n`]*+)")
_FENCE_END = r"\n[ \t]*+`{%d,}+[ \t]*+(?=\n|\Z)"
_LINE_BEGUN = re.compile(r"\n[ \t]{0,8}\Z")
_LINE_ENDED = re.compile(r"[ \t]*+(?:\n|\Z)")
_KEY = re.compile(r"""[\[{\s]*+["'][^"'\n]{0,100}["']\s*+:""")
_MOST_UNBALANCED = 12
"""How many brackets without an end are looked at; each costs a look at the whole rest of the text."""
_MOST_TICKS = 8
_FAR = 1000
"""Blanks that may stand before JSON that is the whole answer."""
_QUOTATION = re.compile(r"\n[ \t]{0,8}>[^\n]{0,80}\Z")
_INK = re.compile(r"\S")

_CALLS = (ToolCallFormatKind.CALL, ToolCallFormatKind.GROUP)

_DATA_FENCES = frozenset(("", "json", "jsonc", "xml", "html", "text", "plaintext"))
"""Languages of fences that a model may have put around calls."""

_LINE = 200
"""Characters of the line before a call that are looked at for an introduction."""


@attrs.frozen
class _Group:
    start: int
    end: int
    format: Compiled
    first_call: int


def walk(text: str, setting: Setting) -> Walked:
    """Find the calls of a text that begins with a line break."""
    return _TextWalk(text, 0, len(text), setting, is_code=False).run()


class _TextWalk:
    def __init__(self, text: str, start: int, end: int, setting: Setting, *, is_code: bool) -> None:
        self._text = text
        self._start = start
        self._end = end
        self._setting = setting
        self._scanner = setting.scanner
        self._is_code = is_code
        self._regions = RegionReader(text, end, setting.scanner, setting.mend, is_ended=setting.is_ended)
        self._found = Walked()
        self._groups: list[_Group] = []
        self._has_stopped = False
        self._has_json = True
        self._unbalanced_left = _MOST_UNBALANCED
        self._example_end = -1
        self._visible_from = start + 1

    def run(self) -> Walked:
        position = self._start
        mark = self._mark_behind(position)
        sign = self._scanner.search(self._text, position, self._end)
        while not self._has_stopped:
            if mark and mark.start < position:
                mark = self._mark_behind(position)
            if sign and sign[1] < position:
                sign = self._scanner.search(self._text, position, self._end)
            if mark and (sign is None or mark.start < sign[1]):
                position = self._pass_reasoning(mark)
            elif sign:
                position = self._pass_sign(*sign)
            else:
                break
        self._close_groups()
        return self._found

    def _mark_behind(self, position: int) -> Mark | None:
        return None if self._is_code else self._setting.marks.search(self._text, position)

    # -- reasoning -------------------------------------------------------------------------------------------

    def _pass_reasoning(self, mark: Mark) -> int:
        found = self._found
        if mark.closer is None:
            # It began in the prompt: everything so far was thought.
            found.reasoning.append(self._text[self._visible_from : mark.start])
            self._visible_from = mark.end
            found.inert += len(found.calls)
            found.calls.clear()
            found.complete.clear()
            self._groups.clear()
            found.removed[:] = [(self._start, mark.end, "\n")]
            return mark.end
        close = mark.closer.search(self._text, mark.end) if not mark.is_empty else None
        if close is None and not mark.is_empty:
            found.is_unclosed = self._has_stopped = True
            return mark.end
        if close is not None:
            found.reasoning.append(self._text[mark.end : close.start()])
        end = close.end() if close else mark.end
        found.removed.append((mark.start, end, ""))
        return end

    # -- signs -----------------------------------------------------------------------------------------------

    def _pass_sign(self, sign: Sign, start: int, end: int) -> int:
        if sign.mark == "`":
            return self._pass_code(start)
        if sign.mark in ("{", "["):
            return self._pass_json(start)
        if sign.closes:
            return self._pass_close(start, end)
        return self._pass_open(sign, start, end)

    def _pass_open(self, sign: Sign, start: int, end: int) -> int:
        if self._is_example(start):
            return self._past_example(sign, end)
        attributes = _attributes(self._text[start:end])
        for call_format in sign.opens:
            position = self._by_format(call_format, sign, start, end, attributes)
            if position is not None:
                return position
        if sign.mark.startswith("```"):
            return self._pass_code(start)
        if sign.mark.startswith("\n```"):
            return self._pass_code(self._text.index("`", start))
        return self._pass_unreadable(sign, start, end)

    def _by_format(
        self, call_format: Compiled, sign: Sign, start: int, end: int, attributes: dict[str, str]
    ) -> int | None:
        kind = call_format.data.kind
        if kind is ToolCallFormatKind.CALL:
            region = self._region(call_format, sign, start, end, attributes)
            return self._take(region, call_format, start) if region else None
        if kind is ToolCallFormatKind.GROUP:
            return self._open_group(call_format, start, end)
        close = self._regions.close_behind(end, call_format.close)
        if close:
            self._found.inert += 1
        return close.end() if close else None

    def _region(
        self, call_format: Compiled, sign: Sign, start: int, end: int, attributes: dict[str, str]
    ) -> Region | None:
        if self._text.endswith("/>", start, end):
            name = attributes.get("name", "")
            return Region(end, (RawCall(name, attributes.get("id", ""), "{}"),)) if name else None
        region = self._regions.read(call_format, sign.mark, end, attributes)
        knows = self._setting.knows
        if region and call_format.data.models and knows is not None:
            # Such marks are also prose; only the name tells.
            return region if all(knows(call.name) for call in region.calls) else None
        return region

    def _take(self, region: Region, call_format: Compiled, start: int) -> int:
        found = self._found
        excerpt = self._text[start : start + 200]
        found.calls += [Written(call, call_format.data, excerpt) for call in region.calls]
        found.complete += [Written(call, call_format.data) for call in region.complete]
        found.removed.append((start, region.end, ""))
        found.is_cut |= region.is_cut
        self._has_stopped = region.is_cut or region.is_last
        return region.end

    def _pass_unreadable(self, sign: Sign, start: int, end: int) -> int:
        """A mark behind which no format can read anything: prose, unless it stands on lines of its own and is closed."""
        call_format = next((each for each in sign.opens if each.data.kind in _CALLS and each.data.close), None)
        close = self._regions.close_behind(end, call_format.close) if call_format else None
        inside = self._text[end : close.start()] if close else ""
        if call_format is None or close is None or not inside.strip() or not self._stands_apart(start, close.end()):
            self._found.inert += any(each.data.kind in _CALLS for each in sign.opens)
            return end
        error = f"nothing between {sign.mark} and its end can be read as a call"
        call = RawCall(problem="malformed", error=error, excerpt=inside[:200])
        return self._take(Region(close.end(), (call,), is_last=True), call_format, start)

    def _stands_apart(self, start: int, end: int) -> bool:
        """Whether a mark and its end are no words of a sentence: on lines of their own, or around something like a call."""
        if not _LINE_BEGUN.search(self._text, max(0, start - 10), start):
            return False
        return bool(_LINE_ENDED.match(self._text, end)) or self._text.find("(", start, end) >= 0

    # -- groups ------------------------------------------------------------------------------------------------

    def _open_group(self, call_format: Compiled, start: int, end: int) -> int | None:
        ink = _INK.search(self._text, end, self._end)
        if ink is None:
            if self._end < len(self._text):
                return None
            call = RawCall(problem="cut", error="the list of calls ends before its first call")
            return self._take(Region(self._end, (call,), is_cut=True), call_format, start)
        inner = self._scanner.match(self._text, ink.start(), self._end)
        if inner is None or not any(each.data.kind in _CALLS for each in inner.opens):
            return None
        self._groups.append(_Group(start, end, call_format, len(self._found.calls)))
        return end

    def _pass_close(self, start: int, end: int) -> int:
        if not self._groups:
            return end
        group = self._groups.pop()
        if len(self._found.calls) > group.first_call:
            self._found.removed += [(group.start, group.end, ""), (start, end, "")]
        return end

    def _close_groups(self) -> None:
        """What is still open at the end: a list may lack calls, unless the model ended by itself."""
        for group in self._groups:
            calls = self._found.calls
            if len(calls) == group.first_call:
                continue
            self._found.removed.append((group.start, group.end, ""))
            if not self._found.is_cut and group.format.data.needs_close:
                if group.format.data.is_list and not self._setting.is_certain:
                    self._found.is_cut = True
                calls[group.first_call :] = [_repaired(each, "unclosed") for each in calls[group.first_call :]]

    # -- JSON --------------------------------------------------------------------------------------------------

    def _pass_json(self, start: int) -> int:
        extent = extent_of(self._text, start, self._end) if self._has_json else None
        if extent is None:
            return start + 1
        if extent.is_whole:
            self._pass_value(start, extent.end)
            return extent.end
        if extent.is_cut and self._end == len(self._text):
            return self._pass_cut_json(start)
        return self._pass_damaged_json(start, extent.end)

    def _pass_damaged_json(self, start: int, broken_at: int) -> int:
        """Something like JSON; what is balanced is passed as a whole, and a document that never is ends the walk."""
        end = loose_end(self._text, start, self._end) if self._unbalanced_left else None
        if end is not None:
            return end
        self._unbalanced_left = max(0, self._unbalanced_left - 1)
        self._has_stopped = self._is_document(start)
        return max(broken_at, start + 1)

    def _is_document(self, start: int) -> bool:
        """Whether JSON that never ends is more than a stray bracket: it begins the text, or has a key."""
        return bool(_KEY.match(self._text, start, self._end)) or not self._text[: min(start, _FAR)].strip()

    def _pass_value(self, start: int, end: int) -> None:
        text = self._text[start:end]
        for call_format in self._scanner.protocols:
            calls = self._calls_of_value(call_format, text)
            if not calls or (call_format.models and not self._is_everything(start, end, calls)):
                continue
            if self._is_example(start):
                self._example_end = end
                return
            self._found.calls += [Written(call, call_format, text[:200]) for call in calls]
            self._found.removed.append((start, end, content_of(text)))
            return

    def _calls_of_value(self, call_format: ToolCallFormat, text: str) -> list[RawCall]:
        words = call_format.protocol
        if not any(f'"{word}"' in text for word in words):
            return []
        try:
            return calls_in(text) if is_protocol(text, words) else []
        except (Inert, *REFUSED):
            return []

    def _is_everything(self, start: int, end: int, calls: list[RawCall]) -> bool:
        """For some models JSON without any mark is a call, but only when nothing else was said, and of a known tool."""
        knows = self._setting.knows
        return (
            knows is not None
            and all(knows(call.name) for call in calls)
            and not self._text[: min(start, _FAR)].strip()
            and start < _FAR
            and not _INK.search(self._text, end)
        )

    def _pass_cut_json(self, start: int) -> int:
        """JSON that the text ends inside of: calls that were cut, a document, or a stray bracket."""
        for call_format in self._scanner.protocols:
            words = "|".join(map(re.escape, call_format.protocol))
            says = re.compile(rf'"(?:{words})"\s*+:\s*+[\[{{]|"type"\s*+:\s*+"(?:{words})"')
            if not call_format.models and says.search(self._text, start):
                excerpt = self._text[start : start + 200]
                call = RawCall(problem="cut", error="the call ends in the middle", excerpt=excerpt)
                complete = complete_items(self._text, start, self._end)
                self._found.calls.append(Written(call, call_format, excerpt))
                self._found.complete += [Written(each, call_format) for each in complete]
                self._found.removed.append((start, self._end, ""))
                self._found.is_cut = self._has_stopped = True
                return self._end
        # In a document every mark is data; one stray bracket is enough.
        self._has_json = False
        self._has_stopped = self._is_document(start)
        return start + 1

    # -- code, quotations, examples -------------------------------------------------------------------------------

    def _pass_code(self, start: int) -> int:
        code = _CODE.match(self._text, start, self._end)
        assert code is not None
        ticks = len(code["ticks"])
        if self._is_code or ticks > _MOST_TICKS:
            return code.end("ticks")
        if self._groups and (close := self._groups[-1].format.close.match(self._text, start, self._end)):
            return self._pass_close(start, close.end())
        if ticks >= 3 and _LINE_BEGUN.search(self._text, max(0, start - 10), start):
            return self._pass_fence(start, code)
        # Inline code ends in as many ticks, on the same line.
        end = re.compile(rf"(?<!`)`{{{ticks}}}(?!`)").search(self._text, code.end("ticks"), self._line_end(start))
        return end.end() if end else code.end("ticks")

    def _line_end(self, start: int) -> int:
        end = self._text.find("\n", start, self._end)
        return end if end >= 0 else self._end

    def _pass_fence(self, start: int, code: re.Match[str]) -> int:
        """Code counts only if it is nothing but calls, in a fence for data that nobody introduced as an example."""
        close = re.compile(_FENCE_END % len(code["ticks"])).search(self._text, code.end(), self._end)
        inside, inside_end = code.end(), close.start() if close else self._end
        end = close.end() if close else self._end
        if code["language"].strip().lower() not in _DATA_FENCES:
            return end
        if self._scanner.search(self._text, inside, inside_end) is None:
            return end
        inner = _TextWalk(self._text, inside, inside_end, self._setting, is_code=True).run()
        is_all = bool(inner.calls) and not _around(self._text, inside, inside_end, inner.removed).strip()
        if not is_all or (inner.is_cut and close) or self._is_introduced(start):
            self._found.inert += inner.inert + len(inner.calls)
            return end
        self._found.calls += inner.calls
        self._found.complete += inner.complete
        self._found.removed.append((start, end, "".join(instead for _, _, instead in inner.removed)))
        self._found.is_cut = self._has_stopped = inner.is_cut
        return end

    def _is_example(self, start: int) -> bool:
        """Whether what starts here is quoted, or introduced as an example, or follows on one."""
        is_one = (
            bool(_QUOTATION.search(self._text, max(0, start - 100), start))
            or self._is_introduced(start, needs_colon=True)
            or self._follows_example(start)
        )
        self._found.inert += is_one
        return is_one

    def _follows_example(self, start: int) -> bool:
        ink = _INK.search(self._text, self._example_end) if self._example_end >= 0 else None
        return ink is not None and ink.start() >= start

    def _is_introduced(self, start: int, *, needs_colon: bool = False) -> bool:
        """Whether the line before says that an example follows."""
        before = self._text[max(0, start - 2 * _LINE) : start].rstrip("`*_ \t\r\n")
        line = before.rpartition("\n")[2][-_LINE:]
        if needs_colon and not line.endswith((":", "：")):
            return False
        return any(pattern.search(line) for pattern in self._scanner.introductions)

    def _past_example(self, sign: Sign, end: int) -> int:
        """Behind the example that begins here."""
        closes = (self._regions.close_behind(end, each.close) for each in sign.opens)
        self._example_end = min((close.end() for close in closes if close), default=end)
        return self._example_end


def _attributes(mark: str) -> dict[str, str]:
    if "=" not in mark:
        return {}
    return {match[1].lower(): match[2] or match[3] or match[4] or "" for match in _ATTRIBUTE.finditer(mark)}


def _repaired(written: Written, repair: str) -> Written:
    return attrs.evolve(written, call=attrs.evolve(written.call, repairs=(*written.call.repairs, repair)))


def _around(text: str, start: int, end: int, removed: list[tuple[int, int, str]]) -> str:
    """What is left of a stretch of text."""
    kept: list[str] = []
    for first, last, _ in sorted(removed):
        kept.append(text[start:first])
        start = max(start, last)
    return "".join([*kept, text[start:end]])
