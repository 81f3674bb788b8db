"""Trims a catalog step by step until it fits, without breaking the dispatch graph.

The encoded bytes of every entry are computed once per rung; fitting a catalog to a cap compares sums and joins bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import msgspec

from helmdeck_core.domain.catalog import Catalog, Entry, EntryData, EntryKind, TrimRecord, TrimSize, TrimStep
from helmdeck_core.domain.events import Event, InvariantRestored
from helmdeck_core.hooks.calls import Contribution, passed_on
from helmdeck_core.hooks.foreign_code import describe_error

Report = Callable[[Event], None]


def _ignore(event: Event) -> None:
    """No-op event report."""


FRAME = len(b'{"packs":[],"pipelines":[]}')
"""Bytes of a catalog without entries."""


@attrs.frozen
class Rung:
    """The catalog after one trim step; rung 0 is the untrimmed catalog.

    :ivar step: the step's name; empty for rung 0.
    :ivar fragments: the encoded entries; the same objects as on the previous rung where nothing was trimmed.
    :ivar has_cut: whether the step trimmed any entry.
    :ivar restored: labels of dispatch-graph fields that the step removed and that were restored.
    :ivar total: bytes of the whole catalog on this rung.
    """

    step: str
    fragments: tuple[bytes, ...]
    has_cut: bool
    restored: tuple[str, ...]
    total: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the step in the record of the whole catalog."""
        return ((self.step,) if self.has_cut else ()) + self.restored


class PreparedCatalog:
    """A catalog and one ladder; each rung is computed at its first use and kept. Thread-safe."""

    def __init__(self, catalog: Catalog, steps: Sequence[Contribution[TrimStep]], report: Report | None = None) -> None:
        self.catalog = catalog
        self.last_rung: int = len(steps)
        self._steps = steps
        self._report = report or _ignore
        self._pack_count = len(catalog.packs)
        self._commas = max(0, self._pack_count - 1) + max(0, len(catalog.pipelines) - 1)
        self._lock = threading.Lock()
        self._whole: dict[int, str] = {}
        self._sizes: dict[int, tuple[TrimSize, ...]] = {}
        self._rungs = [self._rung("", tuple(msgspec.json.encode(entry.data) for entry in catalog.entries), False, ())]

    def rung(self, number: int) -> Rung:
        """Return a rung, computing it at the first use.

        :raises PluginError: a step raised, or returned something else than an entry's data.
        """
        while len(self._rungs) <= number:
            events: list[Event] = []
            with self._lock:
                if len(self._rungs) <= number:
                    step, below = self._steps[len(self._rungs) - 1], self._rungs[-1].fragments
                    self._rungs.append(self._next_rung(step, below, events))
            # Outside of the lock, because a sink may request a selection.
            for event in events:
                self._report(event)
        return self._rungs[number]

    @cached_property
    def bare(self) -> Rung:
        """Every entry with only what the dispatch graph needs; it counts as the rung above ``last_rung``."""
        fragments = tuple(msgspec.json.encode(restore_invariants(entry, {})[0]) for entry in self.catalog.entries)
        return self._rung("entry.bare_name", fragments, True, ())

    @property
    def full_bytes(self) -> int:
        """Bytes of the untrimmed catalog."""
        return self._rungs[0].total

    def fitting_rung(self, cap: int | None) -> int | None:
        """Return the first rung on which the whole catalog is within ``cap`` bytes; ``None`` when there is none.

        :param cap: ``None``, or 0 and less, is no limit.
        """
        if cap is None or cap <= 0:
            return 0
        return next((number for number in range(self.last_rung + 1) if self.rung(number).total <= cap), None)

    def sizes(self, number: int) -> tuple[TrimSize, ...]:
        """Return the size of the whole catalog after each step that trimmed anything, up to a rung; every call records them."""
        if number not in self._sizes:
            rungs = (self.rung(each) for each in range(1, number + 1))
            self._sizes[number] = tuple(
                TrimSize(each.step, each.total, len(self.catalog)) for each in rungs if each.has_cut
            )
        return self._sizes[number]

    def labels_of(self, rungs: Mapping[int, int]) -> tuple[str, ...]:
        """Return the labels of entries on different rungs, in the order of the steps."""
        labels: list[str] = []
        for number in range(1, min(max(rungs.values(), default=0), self.last_rung) + 1):
            fragments, before = self.rung(number).fragments, self.rung(number - 1).fragments
            if any(
                self.last_rung >= rung >= number and fragments[entry] is not before[entry]
                for entry, rung in rungs.items()
            ):
                labels.append(self.rung(number).step)
            labels.extend(self.rung(number).restored)
        return tuple(labels)

    def whole(self, rung: int) -> str:
        """Return the whole catalog on a rung, as it is sent."""
        if rung not in self._whole:
            self._whole[rung] = self.join(dict.fromkeys(range(len(self.catalog)), rung))
        return self._whole[rung]

    def join(self, rungs: Mapping[int, int]) -> str:
        """Return entries on different rungs, as they are sent: in catalog order, bare names last."""
        order = sorted(rungs, key=lambda i: (rungs[i] > self.last_rung, i))
        packs = b",".join([self._fragment(i, rungs[i]) for i in order if i < self._pack_count])
        pipelines = b",".join([self._fragment(i, rungs[i]) for i in order if i >= self._pack_count])
        return b"".join((b'{"packs":[', packs, b'],"pipelines":[', pipelines, b"]}")).decode()

    def _fragment(self, entry: int, rung: int) -> bytes:
        return (self.bare if rung > self.last_rung else self.rung(rung)).fragments[entry]

    def compact(self, cap: int | None) -> tuple[int, TrimRecord]:
        """Return the first rung on which the whole catalog fits; the last one, marked ``still_over_budget``, when none does."""
        fitting = self.fitting_rung(cap)
        number = self.last_rung if fitting is None else fitting
        labels = tuple(label for each in range(1, number + 1) for label in self.rung(each).labels)
        total = self.rung(number).total
        if fitting is None:
            labels += (f"still_over_budget({total}>{cap})",)
        return number, TrimRecord(self.full_bytes, total, labels, len(self.catalog), 0, self.sizes(number))

    def _rung(self, step: str, fragments: tuple[bytes, ...], has_cut: bool, restored: tuple[str, ...]) -> Rung:
        return Rung(step, fragments, has_cut, restored, FRAME + self._commas + sum(map(len, fragments)))

    def _next_rung(self, contribution: Contribution[TrimStep], before: Sequence[bytes], events: list[Event]) -> Rung:
        name = contribution.value.name
        fragments: list[bytes] = []
        restored: dict[str, None] = {}
        for entry, full, old in zip(self.catalog.entries, self._rungs[0].fragments, before, strict=True):
            new, fields = _trimmed(entry, full, old, contribution)
            for field in fields:
                restored[field] = None
                events.append(InvariantRestored(step=name, field=field, plugin=contribution.plugin, entry=entry.id))
            # A step that makes an entry larger is ignored; the same bytes object means that nothing was trimmed.
            fragments.append(new if len(new) < len(old) else old)
        has_cut = any(new is not old for new, old in zip(fragments, before, strict=True))
        labels = tuple(f"invariant_restored({name}:{field})" for field in restored)
        return self._rung(name, tuple(fragments), has_cut, labels)


def _trimmed(entry: Entry, full: bytes, old: bytes, contribution: Contribution[TrimStep]) -> tuple[bytes, list[str]]:
    # The step gets copies, so that it cannot change the catalog.
    data: dict[str, Any] = msgspec.json.decode(old)
    private = attrs.evolve(entry, data=msgspec.json.decode(full))
    try:
        result = contribution.value.trim(private, data)
        if not isinstance(result, Mapping):
            raise TypeError(f"returned {type(result).__name__}, not the entry's data")
        description = result.get("description", "")
        if isinstance(entry.data.get("description"), str) and not isinstance(description, str):
            raise TypeError(f"returned a description of type {type(description).__name__}, not a string")
        guarded, fields = restore_invariants(entry, dict(result))
        return msgspec.json.encode(guarded), fields
    except passed_on():
        raise
    except BaseException as exc:
        raise contribution.fault(f"step {contribution.value.name!r} on {entry.id!r}: {describe_error(exc)}") from exc


def restore_invariants(entry: Entry, data: dict[str, Any]) -> tuple[EntryData, list[str]]:
    """Restore what the dispatch graph needs: names, ids and ``supersedes``; return the data and the restored paths."""
    restored = []
    keys: Iterable[str] = ("name",) if entry.kind is EntryKind.PACK else ("id", "name")
    for key in keys:
        if key in entry.data and data.get(key) != entry.data[key]:
            data = {key: entry.data[key], **{k: v for k, v in data.items() if k != key}}
            restored.append(key)
    wanted = entry.metadata.get("supersedes")
    metadata = data.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    if metadata.get("supersedes") != wanted:
        # An added ``supersedes`` breaks the graph as much as a removed one.
        metadata.pop("supersedes", None)
        data["metadata"] = metadata if wanted is None else {**metadata, "supersedes": wanted}
        restored.append("metadata.supersedes")
    return data, restored
