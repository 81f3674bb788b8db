"""Trims a catalog step by step until it fits, and never breaks the dispatch graph.

All that depends on the catalog alone is computed once: for every rung of the ladder the encoded bytes of every entry.
Fitting a catalog to a cap is then a comparison of sums and a join of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core.calling import Owned
from helmdeck_core.domain.catalog import Catalog, Entry, EntryData, EntryKind, TrimRecord, TrimStep
from helmdeck_core.domain.events import Event, InvariantRestored
from helmdeck_core.errors import PluginError

Report = Callable[[Event], None]


def _silent(event: Event) -> None:
    """Tell nobody."""


FRAME = len(b'{"packs":[],"pipelines":[]}')
"""Bytes of a catalog without entries."""


@attrs.frozen
class Rung:
    """The catalog after one step: rung 0 is the catalog as it came.

    :ivar step: the step's name; empty for rung 0.
    :ivar fragments: each entry, encoded.
    :ivar changed: whether the step cut anything at all.
    :ivar labels: what the record says for it: the step's name, and fields of the dispatch graph that were put back.
    """

    step: str
    fragments: tuple[bytes, ...]
    changed: bool
    labels: tuple[str, ...]

    def total(self) -> int:
        """Bytes of the whole catalog on this rung."""
        return sum(map(len, self.fragments))


class PreparedCatalog:
    """A catalog with all rungs of one ladder, encoded.

    :ivar rungs: rung 0, then one for every step.
    :ivar totals: bytes of the whole catalog on each rung, as it would be sent.
    """

    def __init__(self, catalog: Catalog, steps: Sequence[Owned[TrimStep]], report: Report | None = None) -> None:
        self.catalog = catalog
        self.pack_count = len(catalog.packs)
        first = tuple(msgspec.json.encode(entry.data) for entry in catalog.entries)
        rungs = [Rung("", first, False, ())]
        for step in steps:
            rungs.append(_climb(catalog, step, rungs[-1].fragments, report or _silent))
        self.rungs = tuple(rungs)
        self.totals = tuple(
            FRAME + rung.total() + max(0, self.pack_count - 1) + max(0, len(catalog.pipelines) - 1) for rung in rungs
        )

    @property
    def full_bytes(self) -> int:
        """Bytes of the whole catalog, untrimmed."""
        return self.totals[0]

    def fitting_rung(self, cap: int | None) -> int | None:
        """Return the first rung on which the whole catalog is within ``cap`` bytes; ``None`` when there is none.

        :param cap: ``None``, or 0 and less, is no limit.
        """
        if cap is None or cap <= 0:
            return 0
        return next((number for number, total in enumerate(self.totals) if total <= cap), None)

    def labels(self, rung: int) -> tuple[str, ...]:
        """What was cut up to a rung, for the whole catalog."""
        return tuple(label for each in self.rungs[1 : rung + 1] for label in each.labels)

    def labels_of(self, rungs: Mapping[int, int]) -> tuple[str, ...]:
        """What was cut from some entries, each on a rung of its own."""
        labels: list[str] = []
        for number in range(1, len(self.rungs)):
            fragments, before = self.rungs[number].fragments, self.rungs[number - 1].fragments
            if any(rung >= number and fragments[entry] is not before[entry] for entry, rung in rungs.items()):
                labels.extend(self.rungs[number].labels)
        return tuple(labels)

    def whole(self, rung: int) -> str:
        """The whole catalog on a rung, as it is sent."""
        return self.join(dict.fromkeys(range(len(self.catalog)), rung))

    def join(self, rungs: Mapping[int, int]) -> str:
        """Some entries, each on a rung of its own, in catalog order, as they are sent."""
        order = sorted(rungs)
        packs = b",".join(self.rungs[rungs[i]].fragments[i] for i in order if i < self.pack_count)
        pipelines = b",".join(self.rungs[rungs[i]].fragments[i] for i in order if i >= self.pack_count)
        return b"".join((b'{"packs":[', packs, b'],"pipelines":[', pipelines, b"]}")).decode()

    def compact(self, cap: int | None) -> tuple[int, TrimRecord]:
        """Climb until the whole catalog fits; the last rung, marked ``still_over_budget``, when it never does."""
        rung = self.fitting_rung(cap)
        last = len(self.rungs) - 1 if rung is None else rung
        labels = self.labels(last)
        if rung is None:
            labels += (f"still_over_budget({self.totals[last]}>{cap})",)
        return last, TrimRecord(self.full_bytes, self.totals[last], labels, len(self.catalog), 0)


def _climb(catalog: Catalog, owned: Owned[TrimStep], before: Sequence[bytes], report: Report) -> Rung:
    step = owned.value
    fragments: list[bytes] = []
    restored: list[str] = []
    for entry, old in zip(catalog.entries, before, strict=True):
        new, fields = _trimmed(entry, old, owned)
        for field in fields:
            report(InvariantRestored(step=step.name, field=field, plugin=owned.plugin, entry=entry.id))
        restored.extend(field for field in fields if field not in restored)
        # A step that makes an entry larger has nothing to give; identity of the bytes says "nothing was cut" below.
        fragments.append(new if len(new) < len(old) else old)
    changed = any(new is not old for new, old in zip(fragments, before, strict=True))
    labels = ((step.name,) if changed else ()) + tuple(f"invariant_restored({step.name}:{field})" for field in restored)
    return Rung(step.name, tuple(fragments), changed, labels)


def _trimmed(entry: Entry, old: bytes, owned: Owned[TrimStep]) -> tuple[bytes, list[str]]:
    # The step gets copies of its own, so that one that writes into its input cannot harm the catalog.
    data: dict[str, Any] = msgspec.json.decode(old)
    private = attrs.evolve(entry, data=msgspec.json.decode(msgspec.json.encode(entry.data)))
    try:
        result = owned.value.trim(private, data)
        if not isinstance(result, Mapping):
            raise TypeError(f"returned {type(result).__name__}, not the entry's data")
        guarded, fields = restore_invariants(entry, dict(result))
        return msgspec.json.encode(guarded), fields
    except Exception as exc:
        detail = f"step {owned.value.name!r} on {entry.id!r}: {type(exc).__name__}: {exc}"
        raise PluginError(owned.plugin, "helmdeck_trim_steps", detail) from exc


def restore_invariants(entry: Entry, data: dict[str, Any]) -> tuple[EntryData, list[str]]:
    """Put back what the dispatch graph needs: names, ids and ``supersedes``; return the data and the fields' paths."""
    restored = []
    keys: Iterable[str] = ("name",) if entry.kind is EntryKind.PACK else ("id", "name")
    for key in keys:
        if key in entry.data and data.get(key) != entry.data[key]:
            data = {key: entry.data[key], **{k: v for k, v in data.items() if k != key}}
            restored.append(key)
    wanted = entry.metadata.get("supersedes")
    if wanted is not None:
        metadata = data.get("metadata")
        metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
        if metadata.get("supersedes") != wanted:
            metadata["supersedes"] = wanted
            data["metadata"] = metadata
            restored.append("metadata.supersedes")
    return data, restored
