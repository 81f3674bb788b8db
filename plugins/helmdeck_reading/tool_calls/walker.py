"""Scans a response once, from left to right, and separates calls from text that only resembles calls.

JSON values, code, quotations and reasoning are skipped whole, so marks inside them are ignored, as are reasoning marks
inside the arguments of a call.
"""

from __future__ import annotations

import re

import attrs

from helmdeck_core import StopReason, ToolCallFormat, ToolCallFormatKind
from helmdeck_reading.reasoning_marks import ReasoningMark
from helmdeck_reading.strict_json import DECODE_ERRORS, is_json
from helmdeck_reading.tool_calls.leftovers import without_leftovers
from helmdeck_reading.tool_calls.payloads import NotACall, RawCall, calls_in, content_of, extent_of, is_protocol
from helmdeck_reading.tool_calls.regions import Region, RegionReader, complete_items, loose_end
from helmdeck_reading.tool_calls.scanner import CompiledFormat, Token
from helmdeck_reading.tool_calls.walk_result import WalkContext, WalkResult, WrittenCall, remaining_text

_ATTRIBUTE = re.compile(r"""([\w:.-]{1,64})\s*+=\s*+(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>/]+))""")
_CODE = re.compile(r"(?P<ticks>`+)(?P<language>[^\n`]*+)")
_FENCE_END = r"\n[ \t]*+`{%d,}+[ \t]*+(?=\n|\Z)"
_LINE_START = re.compile(r"\n[ \t]{0,8}\Z")
_LINE_END = re.compile(r"[ \t]*+(?:\n|\Z)")
_KEY = re.compile(r"""[\[{\s]*+["'][^"'\n]{0,100}["']\s*+:""")
_MAX_UNBALANCED = 12
"""Maximum unclosed brackets examined; each costs a scan of the remaining text."""
_MAX_MARKS = 500
"""Maximum marks of calls examined, each at up to 0.1 ms; providers return at most 128 calls in one response."""
_MAX_TICKS = 8
_MAX_LEADING_SPACE = 1000
"""Maximum whitespace before JSON that is the whole response."""
_QUOTATION = re.compile(r"\n[ \t]{0,8}>[^\n]{0,80}\Z")
_NON_SPACE = re.compile(r"\S")

_CALLS = (ToolCallFormatKind.CALL, ToolCallFormatKind.GROUP)

_DATA_FENCES = frozenset(("", "json", "jsonc", "xml", "html", "text", "plaintext"))
"""Languages of fences that may contain calls."""

_MAX_LINE_CHARS = 200
"""Characters of the line before a call that are searched for an introduction."""


@attrs.frozen
class _Group:
    start: int
    end: int
    format: CompiledFormat
    first_call: int


def walk(text: str, context: WalkContext) -> WalkResult:
    """Find the calls in a text that starts with a line break."""
    return _TextWalk(text, 0, len(text), context, is_code=False).run()


class _TextWalk:
    def __init__(
        self, text: str, start: int, end: int, context: WalkContext, *, is_code: bool, marks_left: int = _MAX_MARKS
    ) -> None:
        self._text = text
        self._start = start
        self._end = end
        self._context = context
        self._scanner = context.scanner
        self._is_code = is_code
        self._regions = RegionReader(text, end, context.scanner, context.repair, is_ended=context.is_ended)
        self._result = WalkResult()
        self._groups: list[_Group] = []
        self._has_stopped = False
        self._has_json = True
        self._unbalanced_left = _MAX_UNBALANCED
        self._marks_left = marks_left
        self._example_end = -1
        self._has_introductions = True
        self._introduced_at = -1
        self._visible_from = start + 1

    def run(self) -> WalkResult:
        position = self._start
        mark = self._mark_after(position)
        token = self._scanner.search(self._text, position, self._end)
        while not self._has_stopped:
            if mark and mark.start < position:
                mark = self._mark_after(position)
            if token and token[1] < position:
                token = self._scanner.search(self._text, position, self._end)
            if mark and (token is None or mark.start < token[1]):
                position = self._pass_reasoning(mark)
            elif token:
                position = self._pass_token(*token)
            else:
                break
        self._close_groups()
        if self._introduced_at >= 0 and self._context.stop is StopReason.TOOL_CALL and not self._is_code:
            self._take_introduced_calls()
        return self._result

    def _take_introduced_calls(self) -> None:
        """What ends the text is no example if the response ended for tool calls and has no other call."""
        result, text, start, end = self._result, self._text, self._introduced_at, self._end
        if result.calls or self._has_stopped:
            return
        walk_of_rest = _TextWalk(text, start, end, self._context, is_code=False, marks_left=self._marks_left)
        walk_of_rest._has_introductions = False
        rest = walk_of_rest.run()
        visible = without_leftovers(remaining_text(text, start, end, rest.removed), self._scanner.leftovers)
        if rest.calls and not visible.strip():
            result.calls, result.complete, result.is_truncated = rest.calls, rest.complete, rest.is_truncated
            result.removed += rest.removed
            result.inert = rest.inert

    def _mark_after(self, position: int) -> ReasoningMark | None:
        return None if self._is_code else self._context.marks.search(self._text, position)

    # -- reasoning -------------------------------------------------------------------------------------------

    def _pass_reasoning(self, mark: ReasoningMark) -> int:
        result = self._result
        if mark.closer is None:
            # The block was opened in the prompt, so all text so far is reasoning.
            result.reasoning.append(self._text[self._visible_from : mark.start])
            self._visible_from = mark.end
            result.inert += len(result.calls)
            result.calls.clear()
            result.complete.clear()
            self._groups.clear()
            result.removed[:] = [(self._start, mark.end, "\n")]
            return mark.end
        close = mark.closer.search(self._text, mark.end) if not mark.is_empty else None
        if close is None and not mark.is_empty:
            result.is_unclosed = self._has_stopped = True
            return mark.end
        if close is not None:
            result.reasoning.append(self._text[mark.end : close.start()])
        end = close.end() if close else mark.end
        result.removed.append((mark.start, end, ""))
        return end

    # -- tokens -----------------------------------------------------------------------------------------------

    def _pass_token(self, token: Token, start: int, end: int) -> int:
        if token.mark == "`":
            return self._pass_code(start)
        if token.mark in ("{", "["):
            return self._pass_json(start)
        if token.closes:
            return self._pass_close(start, end)
        return self._pass_open(token, start, end)

    def _pass_open(self, token: Token, start: int, end: int) -> int:
        if not self._marks_left:
            return self._stop_at(token, start)
        self._marks_left -= 1
        if self._is_example(start):
            return self._end_of_example(token, end)
        attributes = _attributes(self._text[start:end])
        for call_format in token.opens:
            position = self._read_by_format(call_format, token, start, end, attributes)
            if position is not None:
                return position
        if token.mark.startswith("```"):
            return self._pass_code(start)
        if token.mark.startswith("\n```"):
            return self._pass_code(self._text.index("`", start))
        return self._pass_unreadable(token, start, end)

    def _stop_at(self, token: Token, start: int) -> int:
        """Stop reading a text with more marks than any response needs: a loop, or an attempt to keep the reader busy."""
        error = f"the text has more than {_MAX_MARKS} marks of calls, and is not read further"
        call = RawCall(problem="malformed", error=error, excerpt=self._text[start : start + 200])
        self._result.calls.append(WrittenCall(call, token.opens[0].data))
        self._result.is_truncated = self._has_stopped = True
        return start

    def _read_by_format(
        self, call_format: CompiledFormat, token: Token, start: int, end: int, attributes: dict[str, str]
    ) -> int | None:
        kind = call_format.data.kind
        if kind is ToolCallFormatKind.CALL:
            region = self._region(call_format, token, start, end, attributes)
            return self._add_region(region, call_format, start) if region else None
        if kind is ToolCallFormatKind.GROUP:
            return self._open_group(call_format, start, end)
        close = self._regions.close_after(end, call_format.close)
        if close:
            self._result.inert += 1
        return close.end() if close else None

    def _region(
        self, call_format: CompiledFormat, token: Token, start: int, end: int, attributes: dict[str, str]
    ) -> Region | None:
        if self._text.endswith("/>", start, end):
            name = attributes.get("name", "")
            return Region(end, (RawCall(name, attributes.get("id", ""), "{}"),)) if name else None
        region = self._regions.read(call_format, token.mark, end, attributes)
        is_known = self._context.is_known
        if region and call_format.data.models and is_known is not None:
            # Such marks also occur in prose; only a known name identifies a call.
            return region if all(is_known(call.name) for call in region.calls) else None
        return region

    def _add_region(self, region: Region, call_format: CompiledFormat, start: int) -> int:
        result = self._result
        excerpt = self._text[start : start + 200]
        result.calls += [WrittenCall(call, call_format.data, excerpt) for call in region.calls]
        result.complete += [WrittenCall(call, call_format.data) for call in region.complete]
        result.removed.append((start, region.end, ""))
        result.is_truncated |= region.is_truncated
        self._has_stopped = region.is_truncated or region.is_last
        return region.end

    def _pass_unreadable(self, token: Token, start: int, end: int) -> int:
        """A mark without a parsable call is prose, unless it is closed and set apart from the text."""
        call_format = next((each for each in token.opens if each.data.kind in _CALLS and each.data.close), None)
        close = self._regions.close_after(end, call_format.close) if call_format else None
        inside = self._text[end : close.start()] if close else ""
        if call_format is None or close is None or not inside.strip() or not self._is_set_apart(start, close.end()):
            self._result.inert += any(each.data.kind in _CALLS for each in token.opens)
            return end
        error = f"the text between {token.mark} and its closing mark is not a call"
        call = RawCall(problem="malformed", error=error, excerpt=inside[:200])
        return self._add_region(Region(close.end(), (call,), is_last=True), call_format, start)

    def _is_set_apart(self, start: int, end: int) -> bool:
        """Whether a mark that starts a line, or is a control token, is closed at the end of one, or precedes a parenthesis."""
        is_at_start = bool(_LINE_START.search(self._text, max(0, start - 10), start))
        if _LINE_END.match(self._text, end):
            return is_at_start or self._text.startswith("<|", start)
        return is_at_start and self._text.find("(", start, end) >= 0

    # -- groups ------------------------------------------------------------------------------------------------

    def _open_group(self, call_format: CompiledFormat, start: int, end: int) -> int | None:
        first = _NON_SPACE.search(self._text, end, self._end)
        if first is None:
            if self._end < len(self._text):
                return None
            call = RawCall(problem="cut", error="the list of calls ends before its first call")
            return self._add_region(Region(self._end, (call,), is_truncated=True), call_format, start)
        inner = self._scanner.match(self._text, first.start(), self._end)
        if inner is None or not any(each.data.kind in _CALLS for each in inner.opens):
            return None
        self._groups.append(_Group(start, end, call_format, len(self._result.calls)))
        return end

    def _pass_close(self, start: int, end: int) -> int:
        if not self._groups:
            if self._result.calls and not self._text[self._result.removed[-1][1] : start].strip():
                self._result.removed.append((start, end, ""))  # of a call whose opening mark was left out
            return end
        group = self._groups.pop()
        if len(self._result.calls) > group.first_call:
            self._result.removed += [(group.start, group.end, ""), (start, end, "")]
        return end

    def _close_groups(self) -> None:
        """Close open groups: an unclosed list may lack calls, unless the model ended its turn."""
        for group in self._groups:
            calls = self._result.calls
            if len(calls) == group.first_call:
                continue
            self._result.removed.append((group.start, group.end, ""))
            if not self._result.is_truncated and group.format.data.needs_close:
                if group.format.data.is_list and not self._context.is_certain:
                    self._result.is_truncated = True
                calls[group.first_call :] = [_repaired(each, "unclosed") for each in calls[group.first_call :]]

    # -- JSON --------------------------------------------------------------------------------------------------

    def _pass_json(self, start: int) -> int:
        extent = extent_of(self._text, start, self._end) if self._has_json else None
        if extent is None:
            return start + 1
        if extent.is_whole:
            self._pass_value(start, extent.end)
            return extent.end
        if extent.is_truncated and self._end == len(self._text):
            return self._pass_truncated_json(start)
        return self._pass_invalid_json(start, extent.end)

    def _pass_invalid_json(self, start: int, error_at: int) -> int:
        """Skip balanced invalid JSON whole; an unbalanced document ends the walk."""
        end = loose_end(self._text, start, self._end) if self._unbalanced_left else None
        if end is not None:
            self._pass_value(start, end)
            return end
        self._unbalanced_left = max(0, self._unbalanced_left - 1)
        self._has_stopped = self._is_document(start)
        return max(error_at, start + 1)

    def _is_document(self, start: int) -> bool:
        """Whether unclosed JSON is more than a stray bracket: it starts the text, or has a key."""
        return (
            bool(_KEY.match(self._text, start, self._end)) or not self._text[: min(start, _MAX_LEADING_SPACE)].strip()
        )

    def _pass_value(self, start: int, end: int) -> None:
        text, repairs = self._text[start:end], tuple[str, ...]()
        if not self._scanner.has_protocol(text):
            return
        if not is_json(text):
            if (repaired := self._context.repair(text)) is None:
                return
            text, repairs = repaired
        for call_format in self._scanner.protocols:
            calls = self._calls_of_value(call_format, text)
            if not calls or (call_format.models and not self._is_whole_text(start, end, calls)):
                continue
            if self._is_example(start):
                self._example_end = end
                return
            calls = [attrs.evolve(call, repairs=(*repairs, *call.repairs)) for call in calls]
            self._result.calls += [WrittenCall(call, call_format, text[:200]) for call in calls]
            self._result.removed.append((start, end, content_of(text)))
            return

    def _calls_of_value(self, call_format: ToolCallFormat, text: str) -> list[RawCall]:
        try:
            return calls_in(text) if is_protocol(text, call_format.protocol) else []
        except (NotACall, *DECODE_ERRORS):
            return []

    def _is_whole_text(self, start: int, end: int, calls: list[RawCall]) -> bool:
        """For some models, JSON without marks is a call if it is the whole response and all tools are known."""
        is_known = self._context.is_known
        return (
            is_known is not None
            and all(is_known(call.name) for call in calls)
            and not self._text[: min(start, _MAX_LEADING_SPACE)].strip()
            and start < _MAX_LEADING_SPACE
            and not without_leftovers(self._text[end:], self._scanner.leftovers).strip()
        )

    def _pass_truncated_json(self, start: int) -> int:
        """Handle JSON that is open at the end of the text: truncated calls, a document, or a stray bracket."""
        for call_format in self._scanner.protocols:
            words = "|".join(map(re.escape, call_format.protocol))
            protocol = re.compile(rf'"(?:{words})"\s*+:\s*+[\[{{]|"type"\s*+:\s*+"(?:{words})"')
            if not call_format.models and protocol.search(self._text, start):
                excerpt = self._text[start : start + 200]
                call = RawCall(problem="cut", error="the call is truncated", excerpt=excerpt)
                complete = complete_items(self._text, start, self._end)
                self._result.calls.append(WrittenCall(call, call_format, excerpt))
                self._result.complete += [WrittenCall(each, call_format) for each in complete]
                self._result.removed.append((start, self._end, ""))
                self._result.is_truncated = self._has_stopped = True
                return self._end
        # Marks inside a document are data. After one stray bracket, JSON is no longer parsed.
        self._has_json = False
        self._has_stopped = self._is_document(start)
        return start + 1

    # -- code, quotations, examples -------------------------------------------------------------------------------

    def _pass_code(self, start: int) -> int:
        code = _CODE.match(self._text, start, self._end)
        assert code is not None
        ticks = len(code["ticks"])
        if self._is_code or ticks > _MAX_TICKS:
            return code.end("ticks")
        if self._groups and (close := self._groups[-1].format.close.match(self._text, start, self._end)):
            return self._pass_close(start, close.end())
        if ticks >= 3 and _LINE_START.search(self._text, max(0, start - 10), start):
            return self._pass_fence(start, code)
        # Inline code ends with the same number of backticks, on the same line.
        end = re.compile(rf"(?<!`)`{{{ticks}}}(?!`)").search(self._text, code.end("ticks"), self._line_end(start))
        return end.end() if end else code.end("ticks")

    def _line_end(self, start: int) -> int:
        end = self._text.find("\n", start, self._end)
        return end if end >= 0 else self._end

    def _pass_fence(self, start: int, code: re.Match[str]) -> int:
        """Accept fenced calls only if the fence is for data, contains only calls and is not introduced as an example."""
        close = re.compile(_FENCE_END % len(code["ticks"])).search(self._text, code.end(), self._end)
        inside, inside_end = code.end(), close.start() if close else self._end
        end = close.end() if close else self._end
        if code["language"].strip().lower() not in _DATA_FENCES:
            return end
        if self._scanner.search(self._text, inside, inside_end) is None:
            return end
        walk_of_code = _TextWalk(
            self._text, inside, inside_end, self._context, is_code=True, marks_left=self._marks_left
        )
        inner, self._marks_left = walk_of_code.run(), walk_of_code._marks_left
        is_all = bool(inner.calls) and not remaining_text(self._text, inside, inside_end, inner.removed).strip()
        if not is_all or (inner.is_truncated and close) or self._is_introduced(start):
            self._result.inert += inner.inert + len(inner.calls)
            return end
        self._result.calls += inner.calls
        self._result.complete += inner.complete
        self._result.removed.append((start, end, "".join(instead for _, _, instead in inner.removed)))
        self._result.is_truncated = self._has_stopped = inner.is_truncated
        return end

    def _is_example(self, start: int) -> bool:
        """Whether the text at ``start`` is quoted, introduced as an example, or directly follows an example."""
        is_example = (
            bool(_QUOTATION.search(self._text, max(0, start - 100), start))
            or self._is_introduced(start, needs_colon=True)
            or self._follows_example(start)
        )
        self._result.inert += is_example
        return is_example

    def _follows_example(self, start: int) -> bool:
        first = _NON_SPACE.search(self._text, self._example_end) if self._example_end >= 0 else None
        return first is not None and first.start() >= start

    def _is_introduced(self, start: int, *, needs_colon: bool = False) -> bool:
        """Whether the previous line introduces an example."""
        before = self._text[max(0, start - 2 * _MAX_LINE_CHARS) : start].rstrip("`*_ \t\r\n")
        line = before.rpartition("\n")[2][-_MAX_LINE_CHARS:]
        if needs_colon and not line.endswith((":", "：")):
            return False
        is_introduced = self._has_introductions and any(each.search(line) for each in self._scanner.introductions)
        self._introduced_at = start if is_introduced else self._introduced_at
        return is_introduced

    def _end_of_example(self, token: Token, end: int) -> int:
        """The end of the example that starts with this token."""
        closes = (self._regions.close_after(end, each.close) for each in token.opens)
        self._example_end = min((close.end() for close in closes if close), default=end)
        return self._example_end


def _attributes(mark: str) -> dict[str, str]:
    if "=" not in mark:
        return {}
    return {match[1].lower(): match[2] or match[3] or match[4] or "" for match in _ATTRIBUTE.finditer(mark)}


def _repaired(written: WrittenCall, repair: str) -> WrittenCall:
    return attrs.evolve(written, call=attrs.evolve(written.call, repairs=(*written.call.repairs, repair)))
