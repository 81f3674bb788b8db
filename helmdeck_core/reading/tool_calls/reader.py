"""Says which calls of an answer may be run, native ones and those that are written as text, by the same rules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import msgspec

from helmdeck_core.domain.chat import ChatResponse, StopReason, ToolCall, ToolDefinition
from helmdeck_core.domain.decode import DecodeFailed, ReasoningTag
from helmdeck_core.domain.tool_calls import NATIVE, MalformedCall, RecoveredCall, ToolCallFormat, ToolCalls
from helmdeck_core.reading.decoder import Decoder
from helmdeck_core.reading.diagnosis import excerpt_of
from helmdeck_core.reading.name_resolver import NameResolver
from helmdeck_core.reading.reasoning_marks import Marks
from helmdeck_core.reading.tool_calls.payloads import BadArguments, RawCall, read_arguments, read_elements
from helmdeck_core.reading.tool_calls.scanner import Scanner
from helmdeck_core.reading.tool_calls.walk_result import ENDED, Setting
from helmdeck_core.reading.tool_calls.walker import walk

Tools = Iterable[str | ToolDefinition]


class ToolCallReader:
    """Reads calls by the formats, and strips reasoning by the tags, of the plugins."""

    def __init__(self, formats: Sequence[ToolCallFormat], tags: Sequence[ReasoningTag], decoder: Decoder) -> None:
        self._formats = tuple(formats)
        self._tags = tuple(tags)
        self._decoder = decoder
        self._scanners: dict[tuple[str, ...], Scanner] = {}

    @cached_property
    def _marks(self) -> Marks:
        return Marks(self._tags)

    def read(
        self,
        text: str,
        *,
        tools: Tools | None = None,
        stop: StopReason | None = None,
        model: str = "",
        partial: bool = False,
    ) -> ToolCalls:
        """Find the calls that a text holds; never raises for any text.

        :param tools: the tools that were offered; ``None`` lets every name through.
        :param stop: why the model stopped; ``None`` when nobody says, and then only what is visibly cut counts as cut.
        :param model: the model id, for formats that only some models write.
        :param partial: also return the complete calls of an answer that was cut.
        """
        scanner = self._scanner(model)
        if not scanner.finds(text):
            stripped = self._decoder.strip(text)
            is_stripped = len(stripped.found) > stripped.is_unclosed
            return ToolCalls(text=stripped.text if is_stripped else text, reasoning=stripped.reasoning)
        known = _Known(tools)
        # The line break in front lets a mark that belongs to the start of a line begin the text.
        lined = "\n" + text
        walked = walk(lined, Setting(scanner, self._marks, self._mend, stop, known.knows))
        sorter = _Sorter(known, text)
        for written in (*walked.calls, *walked.complete):
            sorter.add(written.call, written.format.name, written.excerpt)
        visible = _joined(lined, walked.removed) if walked.removed else text
        return sorter.result(
            text=_without_leftovers(visible, scanner.leftovers),
            is_cut=walked.is_cut,
            may_run=partial or ((stop is None or stop in ENDED) and not walked.is_cut),
            inert=walked.inert,
            reasoning="\n".join(walked.reasoning),
        )

    def judge(
        self, response: ChatResponse, *, tools: Tools | None = None, model: str = "", partial: bool = False
    ) -> ToolCalls:
        """Say which calls of a response may be run: its native ones, or else those in its text.

        Parameters are those of ``read``. Arguments that cannot be read are an error for the model, never replaced.
        """
        stop = response.stop_reason
        if not response.tool_calls:
            return self.read(response.text, tools=tools, stop=stop, model=model, partial=partial)
        is_ended = stop in ENDED
        raws = [_native(call, is_ended=is_ended) for call in response.tool_calls]
        is_cut = any(raw.problem == "cut" for raw in raws)
        sorter = _Sorter(_Known(tools), "".join(call.arguments for call in response.tool_calls))
        for raw, call in zip(raws, response.tool_calls, strict=True):
            sorter.add(raw, NATIVE, call.arguments)
        return sorter.result(text=response.text, is_cut=is_cut, may_run=partial or (is_ended and not is_cut))

    def _scanner(self, model: str) -> Scanner:
        model = model.lower()
        active = [each for each in self._formats if not each.models or any(word in model for word in each.models)]
        key = tuple(each.name for each in active if each.models)
        if key not in self._scanners:
            self._scanners[key] = Scanner(active)
        return self._scanners[key]

    def _mend(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        try:
            decoded = self._decoder.decode(text, dict, StopReason.END_TURN)
            return msgspec.json.encode(decoded.value).decode(), decoded.repairs or (decoded.step,)
        except (DecodeFailed, ValueError, RecursionError):
            return None


def _native(call: ToolCall, *, is_ended: bool) -> RawCall:
    """A native call; where the answer did not end for it, arguments that cannot be read were cut."""
    raw = RawCall(call.name, call.id, call.arguments)
    if is_ended:
        return raw
    try:
        if call.arguments.strip():
            read_arguments(call.arguments)
            return raw
    except BadArguments:
        pass
    return attrs.evolve(raw, problem="cut", error="the arguments end in the middle")


class _Known:
    """The tools that the caller offered."""

    def __init__(self, tools: Tools | None) -> None:
        self.is_open = tools is None
        self._schemas: dict[str, Mapping[str, Any]] = {}
        for tool in tools or ():
            name, schema = (tool, {}) if isinstance(tool, str) else (tool.name, tool.input_schema)
            self._schemas[name] = schema
        self._names = NameResolver(self._schemas)

    @property
    def knows(self) -> Callable[[str], bool] | None:
        return None if self.is_open else lambda name: self.find(name) is not None

    def find(self, name: str) -> str | None:
        return name if self.is_open else self._names.find(name)

    def nearest(self, name: str) -> tuple[str, ...]:
        return self._names.nearest(name)

    def properties(self, name: str) -> Mapping[str, Any]:
        """What the schema of a tool says of its arguments."""
        properties = self._schemas.get(name, {}).get("properties")
        return properties if isinstance(properties, Mapping) else {}


class _Sorter:
    """Holds calls against the tools and the rules for arguments; what passes was found, all else is broken.

    :param text: what the ids are made from where the model gave none: the same answer has the same ids.
    """

    def __init__(self, known: _Known, text: str) -> None:
        self.found: list[RecoveredCall] = []
        self.broken: list[MalformedCall] = []
        self._known = known
        self._text = text
        self._ids: set[str] = set()

    def add(self, raw: RawCall, call_format: str, excerpt: str) -> None:
        call_id, repairs = self._id(raw.id)
        excerpt = excerpt_of(raw.excerpt or excerpt)
        name = self._known.find(raw.name) if raw.name else None
        problem, error = raw.problem, raw.error
        if not problem and not raw.name:
            problem, error = "no_name", "the call names no tool"
        elif not problem and name is None:
            nearest = self._known.nearest(raw.name)
            meant = f"; did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
            problem, error = "unknown_tool", f"there is no tool {excerpt_of(raw.name)!r}{meant}"
        if not problem:
            try:
                arguments, args, more = self._arguments(raw, name or "")
            except BadArguments as bad:
                problem, error = bad.problem, str(bad)
            else:
                corrected = raw.name if name != raw.name else None
                call = ToolCall(call_id, name or "", arguments)
                self.found.append(RecoveredCall(call, args, call_format, (*raw.repairs, *more, *repairs), corrected))
                return
        self.broken.append(MalformedCall(call_format, problem, error, raw.name, call_id, excerpt))

    def _arguments(self, raw: RawCall, name: str) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        if raw.elements is None:
            return read_arguments(raw.arguments)
        return *read_elements(raw.elements, self._known.properties(name)), ()

    def _id(self, given: str) -> tuple[str, tuple[str, ...]]:
        """The model's own id, unless another call of the answer has it too."""
        if given and given not in self._ids:
            self._ids.add(given)
            return given, ()
        made = f"call_{self._digest[:12]}_{len(self._ids) + 1}"
        while made in self._ids:
            made += "x"
        self._ids.add(made)
        return made, ("new_id",) if given else ()

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._text.encode("utf-8", "surrogatepass")).hexdigest()

    def result(self, *, text: str, is_cut: bool, may_run: bool, inert: int = 0, reasoning: str = "") -> ToolCalls:
        """What was found, as calls that may be run or as calls that must not be."""
        found = tuple(self.found)
        return ToolCalls(
            text=text,
            calls=found if may_run else (),
            withheld=() if may_run else found,
            broken=tuple(self.broken),
            is_cut=is_cut,
            inert=inert,
            reasoning=reasoning,
        )


def _joined(text: str, removed: Iterable[tuple[int, int, str]]) -> str:
    """The text without some spans; blanks that meet where one was become one paragraph, line or word break."""
    kept: list[str] = []
    done = 0
    for start, end, instead in sorted(removed):
        if start >= done:
            kept += [text[done:start], instead]
        done = max(done, end)
    kept.append(text[done:])
    joined: list[str] = []
    gap = ""
    for piece in kept:
        stem = piece.strip()
        if not stem:
            gap += piece
            continue
        lead = piece[: len(piece) - len(piece.lstrip())]
        if joined:
            blanks = gap + lead
            joined.append("\n\n" if blanks.count("\n") > 1 else "\n" if "\n" in blanks else " " if blanks else "")
        joined.append(stem)
        gap = piece[len(lead) + len(stem) :]
    return "".join(joined)


def _without_leftovers(text: str, leftovers: Sequence[ToolCallFormat]) -> str:
    """Take tokens and blocks off the end; what stands before other text stays."""
    end = len(text)
    while (start := _start_of_leftover(text, _ink_end(text, end), leftovers)) is not None:
        end = start
    return text if end == len(text) else text[:end].rstrip()


def _start_of_leftover(text: str, end: int, leftovers: Sequence[ToolCallFormat]) -> int | None:
    """Where the leftover starts that ends here."""
    for call_format in leftovers:
        for mark, last in zip(call_format.open, call_format.close or call_format.open, strict=False):
            if text[max(0, end - len(last)) : end].lower() != last.lower():
                continue
            start = text.rfind(mark.removesuffix(">"), 0, end) if call_format.close else end - len(last)
            if start >= 0:
                return start
    return None


def _ink_end(text: str, end: int) -> int:
    """Where the text before ``end`` ends, blanks apart."""
    while end and text[end - 1].isspace():
        end -= 1
    return end
