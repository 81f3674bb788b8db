"""Fits the tools of a request to the catalog limit of a model's budget.

The steps are those of a catalog: first the least useful parts of all tools are left out, and only then whole tools. Within one
conversation the same tools are sent again, in the client's order and with the same bytes, so that a cached prefix stays valid.
"""

from __future__ import annotations

import collections
import hashlib
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core import (
    Catalog,
    ChatRequest,
    Entry,
    EntryKind,
    Helmdeck,
    Ranker,
    RankIndex,
    Role,
    ToolDefinition,
    TrimRecord,
    TrimSize,
)
from helmdeck_gateway.calls.aside import aside
from helmdeck_gateway.conversations.tool_choices import ToolChoices

MAX_INDEXES: Final = 64
"""Sets of tools whose ranking index is kept."""
MAX_DESCRIPTION: Final = 320
"""Characters of a shortened description of a tool; of a parameter, a quarter."""

_ANNOTATIONS: Final = frozenset(("$schema", "$id", "$comment", "title", "examples", "default"))
_TOOL_NAME: Final = re.compile(r"`(\w+)`|\b(\w+) tool\b")
"""How a description names another tool."""
_encode = msgspec.json.Encoder(order="deterministic").encode


@attrs.frozen(kw_only=True)
class Narrowed:
    """The tools to send.

    :ivar record: sizes in bytes, the steps, and how many tools are left out.
    :ivar left_out: the names of the tools that are left out.
    """

    tools: tuple[ToolDefinition, ...]
    record: TrimRecord
    left_out: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The result in one line, for a header."""
        count = len(self.tools)
        parts = [
            f"{count} of {count + len(self.left_out)}",
            f"{self.record.after_bytes} of {self.record.before_bytes} bytes",
        ]
        return "; ".join([*parts, *self.record.dropped])


@attrs.frozen(kw_only=True)
class _Ranking:
    """Tools that exceed a limit even when they are shortened.

    :ivar key: of the conversation and its tools.
    :ivar sizes: bytes of each tool by name.
    :ivar used: names of tools that must stay.
    :ivar ranked: names of all tools, the best ones for the request first.
    :ivar named: names of the other tools that the description of a tool names, such as the one that reads a file before it is edited.
    """

    tools: tuple[ToolDefinition, ...]
    before_bytes: int
    steps: tuple[TrimSize, ...]
    key: str
    sizes: Mapping[str, int]
    used: Sequence[str]
    ranked: Sequence[str]
    named: Mapping[str, Sequence[str]]

    def choose(self, sent: Sequence[str], limit: int) -> tuple[str, ...]:
        """Return the names of the tools to send: those in use, the best ones, and those that were sent before."""
        # The best ones come before those of earlier turns, which keep their places while there is room.
        wanted = dict.fromkeys((*self.used, *self.ranked[:2], *sent, *self.ranked))
        must_stay, chosen, left = frozenset(self.used), dict[str, None](), limit - 2
        for name in wanted:
            for number, each in enumerate((name, *self.named.get(name, ()))):
                size = self.sizes.get(each)
                if each not in chosen and size is not None and (size <= left or each in must_stay):
                    chosen[each] = None
                    left -= size
                elif not number:
                    break  # those that a tool names are of no use without it
        return tuple(chosen)

    def narrowed(self, choice: Sequence[str]) -> Narrowed:
        """Return the chosen tools, in the order of the client."""
        names = frozenset(choice)
        kept = tuple(tool for tool in self.tools if tool.name in names)
        left_out = tuple(tool.name for tool in self.tools if tool.name not in names)
        selected = TrimSize("tools.selection", size_of(kept), len(kept))
        steps = (*self.steps, selected) if left_out else self.steps
        return Narrowed(tools=kept, record=_record(self.before_bytes, steps, len(left_out)), left_out=left_out)


@attrs.frozen
class _Index:
    """What is computed once for a set of tools.

    :ivar ranking: ``None`` if no ranker is installed.
    """

    ranking: RankIndex | None
    named: Mapping[str, Sequence[str]]


class Narrower:
    """Narrows the tools of requests.

    :param choices: the tools that conversations have sent.
    """

    def __init__(self, deck: Helmdeck, choices: ToolChoices | None = None) -> None:
        self._deck = deck
        self._choices = choices or ToolChoices()
        self._lock = threading.Lock()
        self._indexes: collections.OrderedDict[bytes, _Index] = collections.OrderedDict()

    async def narrow(self, request: ChatRequest, caller: str = "", size: int = 0) -> Narrowed | None:
        """Return the tools that fit the budget of the requested model; ``None`` if all of them do.

        :param size: bytes of the client's request.
        """
        limit = self._deck.budget(request.model).budget.max_catalog_bytes
        if limit is None or len(request.tools) < 2:
            return None
        found = await aside(size, self._fit, request, limit)
        if not isinstance(found, _Ranking):
            return found
        sent = await self._choices.find(found.key, caller)
        if (choice := found.choose(sent, limit)) != sent:
            await self._choices.keep(found.key, caller, choice)
        return found.narrowed(choice)

    def _fit(self, request: ChatRequest, limit: int) -> Narrowed | _Ranking | None:
        """Shorten the tools until they fit; rank them if that is not enough."""
        before = size_of(request.tools)
        if before <= limit:
            return None
        steps: list[TrimSize] = []
        tools = request.tools
        for step, shorten in (("tools.annotations", _without_annotations), ("tools.descriptions", _shortened)):
            tools = tuple(shorten(tool) for tool in tools)
            steps.append(TrimSize(step, size_of(tools), len(tools)))
            if steps[-1].after_bytes <= limit:
                return Narrowed(tools=tools, record=_record(before, steps, 0))
        used = [call.name for message in request.messages for call in message.tool_calls]
        if request.tool_choice is not None:
            used.append(request.tool_choice)
        users = [message.text for message in request.messages if message.role is Role.USER and message.text.strip()]
        digest = hashlib.blake2b(_encode([_data(tool) for tool in tools]), digest_size=16).digest()
        start = (users[0] if users else "").encode("utf-8", "replace")
        index, last = self._index_of(digest, tools, request.tools), users[-1] if users else ""
        return _Ranking(
            tools=tools,
            before_bytes=before,
            steps=tuple(steps),
            key=hashlib.blake2b(digest + start, digest_size=16).hexdigest(),
            sizes={tool.name: len(_encode(_data(tool))) + 1 for tool in tools},
            used=tuple(dict.fromkeys(used)),
            ranked=index.ranking.rank(last).ids if index.ranking else [tool.name for tool in tools],
            named=index.named,
        )

    def _index_of(self, key: bytes, tools: Sequence[ToolDefinition], whole: Sequence[ToolDefinition]) -> _Index:
        """The index of tools that are shortened, and as the client sent them."""
        with self._lock:  # large requests are read in threads
            index = self._indexes.get(key)
        if index is None:
            index = _Index(self._index(tools), _named(whole))
            with self._lock:
                self._indexes[key] = index
                while len(self._indexes) > MAX_INDEXES:
                    self._indexes.popitem(last=False)
        return index

    def _index(self, tools: Sequence[ToolDefinition]) -> RankIndex | None:
        """The index of the configured ranker; one that would block gives way to the one that it is built on."""
        rankers = self._deck.runtime.contributed(Ranker)
        name = self._deck.runtime.config.selection.ranker
        while name in rankers and (rankers[name].value.is_blocking or rankers[name].value.over):
            name = rankers[name].value.over
        if name not in rankers:
            return None
        ranker = rankers[name].value
        entries = (Entry(EntryKind.PACK, tool.name, _data(tool), "request") for tool in tools)
        options = {**ranker.options, **self._deck.runtime.config.selection.rankers.get(name, {})}
        return ranker.index(Catalog(entries), **options)


def _named(tools: Sequence[ToolDefinition]) -> Mapping[str, Sequence[str]]:
    """The other tools that the description of each tool names."""
    names = {tool.name for tool in tools}
    found: dict[str, Sequence[str]] = {}
    for tool in tools:
        words = (quoted or plain for quoted, plain in _TOOL_NAME.findall(tool.description))
        if others := tuple(dict.fromkeys(word for word in words if word in names and word != tool.name)):
            found[tool.name] = others
    return found


def size_of(tools: Sequence[ToolDefinition]) -> int:
    """Return the size of tools as compact JSON, in UTF-8 bytes."""
    return len(_encode([_data(tool) for tool in tools]))


def _data(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def _record(before: int, steps: Sequence[TrimSize], left_out: int) -> TrimRecord:
    last = steps[-1]
    dropped = tuple(each.step for each in steps)
    return TrimRecord(before, last.after_bytes, dropped, last.entries, left_out, tuple(steps))


def _without_annotations(tool: ToolDefinition) -> ToolDefinition:
    return attrs.evolve(tool, input_schema=_trimmed(tool.input_schema, None))


def _shortened(tool: ToolDefinition) -> ToolDefinition:
    schema = _trimmed(tool.input_schema, MAX_DESCRIPTION // 4)
    return attrs.evolve(tool, description=_cut(tool.description, MAX_DESCRIPTION), input_schema=schema)


def _trimmed(schema: Mapping[str, Any], most: int | None, depth: int = 0) -> dict[str, Any]:
    """A schema without annotations, its descriptions cut; names of properties are not keywords."""
    trimmed: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _ANNOTATIONS:
            continue
        if key == "description" and isinstance(value, str):
            trimmed[key] = value if most is None else _cut(value, most)
        elif key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, Mapping):
            trimmed[key] = {name: _deeper(each, most, depth) for name, each in value.items()}
        elif key in ("enum", "const", "required"):
            trimmed[key] = value
        else:
            trimmed[key] = _deeper(value, most, depth)
    return trimmed


def _deeper(value: Any, most: int | None, depth: int) -> Any:
    if depth > 64:
        return value
    if isinstance(value, Mapping):
        return _trimmed(value, most, depth + 1)
    if isinstance(value, list):
        return [_deeper(each, most, depth + 1) for each in value]
    return value


def _cut(text: str, most: int) -> str:
    """The beginning of a text, up to the end of a sentence if there is one in its second half."""
    if len(text) <= most:
        return text
    head = text[:most]
    end = max(head.rfind(". "), head.rfind(".\n"), head.rfind("\n\n"))
    return head[: end + 1].rstrip() if end >= most // 2 else f"{head.rstrip()}…"
