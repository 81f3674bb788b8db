"""Decides which calls of a response may be executed, by the same rules for native calls and for calls in the text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    ChatResponse,
    DecodeFailed,
    MalformedCall,
    RecoveredCall,
    StopReason,
    ToolCall,
    ToolCallContext,
    ToolCalls,
    ToolDefinition,
    excerpt_of,
)
from helmdeck_reading.name_resolver import NameResolver
from helmdeck_reading.reasoning_marks import ReasoningMarks, reasoning_marks
from helmdeck_reading.tool_calls.leftovers import without_leftovers
from helmdeck_reading.tool_calls.payloads import BadArguments, RawCall, read_arguments, read_elements
from helmdeck_reading.tool_calls.regions import RepairJson
from helmdeck_reading.tool_calls.scanner import Scanner
from helmdeck_reading.tool_calls.walk_result import ENDED, WalkContext
from helmdeck_reading.tool_calls.walker import walk

NATIVE = "native"
"""The format of a call that the provider returned."""

MAX_REPAIRED = 64
"""Maximum damaged calls of a response that are repaired, each in up to a millisecond."""

Tools = Iterable[str | ToolDefinition]


class FormatReader:
    """A ``ToolCallReader`` that recovers calls with the contributed formats."""

    def __init__(self, context: ToolCallContext) -> None:
        self._context = context
        self._scanners: dict[tuple[str, ...], Scanner] = {}

    @cached_property
    def _marks(self) -> ReasoningMarks:
        return reasoning_marks(tuple(self._context.tags))

    def read(
        self,
        text: str,
        *,
        tools: Tools | None = None,
        stop: StopReason | None = None,
        model: str = "",
        partial: bool = False,
    ) -> ToolCalls:
        """Find the calls in a text; never raises, whatever the text.

        :param tools: the offered tools; ``None`` accepts every name.
        :param stop: the stop reason; with ``None``, only a call that is visibly incomplete counts as truncated.
        :param model: the model id, for formats of specific models.
        :param partial: also return the complete calls of a truncated response.
        """
        scanner = self._scanner(model)
        if not scanner.finds(text):
            stripped = self._context.strip(text)
            is_stripped = len(stripped.found) > stripped.is_unclosed
            return ToolCalls(text=stripped.text if is_stripped else text, reasoning=stripped.reasoning)
        known = _OfferedTools(tools)
        # The leading line break lets a start-of-line mark match at the start of the text.
        with_break = "\n" + text
        walked = walk(with_break, WalkContext(scanner, self._marks, _limited(self._repair), stop, known.is_known))
        sorter = _CallSorter(known, text)
        for written in (*walked.calls, *walked.complete):
            sorter.add(written.call, written.format.name, written.excerpt)
        visible = _joined(with_break, walked.removed) if walked.removed else text
        return sorter.result(
            text=without_leftovers(visible, scanner.leftovers),
            is_truncated=walked.is_truncated,
            may_run=partial or ((stop is None or stop in ENDED) and not walked.is_truncated),
            inert=walked.inert,
            reasoning="\n".join(walked.reasoning),
        )

    def judge(
        self, response: ChatResponse, *, tools: Tools | None = None, model: str = "", partial: bool = False
    ) -> ToolCalls:
        """Decide which calls of a response may be executed: its native calls, or else those in its text.

        The parameters are those of ``read``. Invalid arguments are reported to the model and never replaced.
        """
        stop = response.stop_reason
        if not response.tool_calls:
            return self.read(response.text, tools=tools, stop=stop, model=model, partial=partial)
        is_ended = stop in ENDED
        raws = [_native(call, is_ended=is_ended) for call in response.tool_calls]
        is_truncated = any(raw.problem == "cut" for raw in raws)
        sorter = _CallSorter(_OfferedTools(tools), "".join(call.arguments for call in response.tool_calls))
        for raw, call in zip(raws, response.tool_calls, strict=True):
            sorter.add(raw, NATIVE, call.arguments)
        return sorter.result(
            text=response.text, is_truncated=is_truncated, may_run=partial or (is_ended and not is_truncated)
        )

    def _scanner(self, model: str) -> Scanner:
        model = model.lower()
        active = [
            each for each in self._context.formats if not each.models or any(word in model for word in each.models)
        ]
        key = tuple(each.name for each in active if each.models)
        if key not in self._scanners:
            self._scanners[key] = Scanner(active)
        return self._scanners[key]

    def _repair(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        try:
            decoded = self._context.decode(text)
            return msgspec.json.encode(decoded.value).decode(), decoded.repairs or (decoded.step,)
        except (DecodeFailed, ValueError, RecursionError):
            return None


def _limited(repair: RepairJson) -> RepairJson:
    """The same for as many texts as a response can have damaged calls; no further one is repaired."""
    left = iter(range(MAX_REPAIRED))
    return lambda text: None if next(left, None) is None else repair(text)


def _native(call: ToolCall, *, is_ended: bool) -> RawCall:
    """A native call; if the response did not end regularly, invalid arguments are truncated."""
    raw = RawCall(call.name, call.id, call.arguments)
    if is_ended:
        return raw
    try:
        if call.arguments.strip():
            read_arguments(call.arguments)
            return raw
    except BadArguments:
        pass
    return attrs.evolve(raw, problem="cut", error="the arguments are truncated")


class _OfferedTools:
    """The tools offered by the caller."""

    def __init__(self, tools: Tools | None) -> None:
        self.is_open = tools is None
        self._schemas: dict[str, Mapping[str, Any]] = {}
        for tool in tools or ():
            name, schema = (tool, {}) if isinstance(tool, str) else (tool.name, tool.input_schema)
            self._schemas[name] = schema
        self._names = NameResolver(self._schemas)

    @property
    def is_known(self) -> Callable[[str], bool] | None:
        return None if self.is_open else lambda name: self.find(name) is not None

    def find(self, name: str) -> str | None:
        return name if self.is_open else self._names.find(name)

    def nearest(self, name: str) -> tuple[str, ...]:
        return self._names.nearest(name)

    def schema(self, name: str) -> Mapping[str, Any]:
        """The input schema of a tool."""
        return self._schemas.get(name, {})


class _CallSorter:
    """Validates names and arguments, and sorts calls into recovered and malformed ones.

    :param text: the source of generated ids, so that the same response always has the same ids.
    """

    def __init__(self, known: _OfferedTools, text: str) -> None:
        self.recovered: list[RecoveredCall] = []
        self.malformed: list[MalformedCall] = []
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
            suggestion = f"; did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
            problem, error = "unknown_tool", f"unknown tool {excerpt_of(raw.name)!r}{suggestion}"
        if not problem:
            try:
                arguments, args, more = self._arguments(raw, name or "")
            except BadArguments as bad:
                problem, error = bad.problem, str(bad)
            else:
                corrected = raw.name if name != raw.name else None
                call = ToolCall(call_id, name or "", arguments)
                all_repairs = (*raw.repairs, *more, *repairs)
                self.recovered.append(RecoveredCall(call, args, call_format, all_repairs, corrected))
                return
        self.malformed.append(MalformedCall(call_format, problem, error, raw.name, call_id, excerpt))

    def _arguments(self, raw: RawCall, name: str) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        if raw.elements is None:
            return read_arguments(raw.arguments)
        return *read_elements(raw.elements, self._known.schema(name)), ()

    def _id(self, original: str) -> tuple[str, tuple[str, ...]]:
        """The model's id if it is unique in the response, else a generated id."""
        if original and original not in self._ids:
            self._ids.add(original)
            return original, ()
        generated = f"call_{self._digest[:12]}_{len(self._ids) + 1}"
        while generated in self._ids:
            generated += "x"
        self._ids.add(generated)
        return generated, ("new_id",) if original else ()

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._text.encode("utf-8", "surrogatepass")).hexdigest()

    def result(self, *, text: str, is_truncated: bool, may_run: bool, inert: int = 0, reasoning: str = "") -> ToolCalls:
        """The recovered calls, either executable or withheld."""
        recovered = tuple(self.recovered)
        return ToolCalls(
            text=text,
            calls=recovered if may_run else (),
            withheld=() if may_run else recovered,
            broken=tuple(self.malformed),
            is_truncated=is_truncated,
            inert=inert,
            reasoning=reasoning,
        )


def _joined(text: str, removed: Iterable[tuple[int, int, str]]) -> str:
    """The text without the removed spans; adjoining whitespace becomes one paragraph, line or word break."""
    chunks: list[str] = []
    done = 0
    for start, end, instead in sorted(removed):
        if start >= done:
            chunks += [text[done:start], instead]
        done = max(done, end)
    chunks.append(text[done:])
    joined: list[str] = []
    gap = ""
    for chunk in chunks:
        content = chunk.strip()
        if not content:
            gap += chunk
            continue
        lead = chunk[: len(chunk) - len(chunk.lstrip())]
        if joined:
            space = gap + lead
            joined.append("\n\n" if space.count("\n") > 1 else "\n" if "\n" in space else " " if space else "")
        joined.append(content)
        gap = chunk[len(lead) + len(content) :]
    return "".join(joined)
