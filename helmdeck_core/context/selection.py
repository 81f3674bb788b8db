"""Selects the entries that one request needs, within the bytes that one model can take.

Nothing is left out while the trimmed catalog fits, because filtering small catalogs costs accuracy. Otherwise entries are
ranked on their full metadata, and the best are kept, each in the richest form that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import attrs

from helmdeck_core.context.ladder import FRAME, PreparedCatalog
from helmdeck_core.domain.catalog import Catalog, TrimRecord, TrimSize
from helmdeck_core.domain.questions import Selection
from helmdeck_core.domain.ranking import CONFIDENCE, Ranking, is_unsure


@attrs.frozen(kw_only=True)
class SelectionLimits:
    """The limits of a selection.

    :ivar cap: the largest catalog in bytes; ``None`` is no limit.
    :ivar max_entries: the maximum number of entries where the catalog does not fit; 0 is no limit.
    :ivar bare_names: the maximum number of further entries by name alone; 0 is none.
    :ivar confidence: below this a ranking counts as unsure.
    """

    cap: int | None
    max_entries: int = 0
    bare_names: int = 0
    confidence: float = CONFIDENCE


def select(prepared: PreparedCatalog, rank: Callable[[], Ranking] | None, limits: SelectionLimits) -> Selection:
    """Choose the entries to send.

    :param rank: ranks the full catalog; called only where entries have to go, ``None`` where nothing may be ranked.
    """
    if rank is None or prepared.fitting_rung(limits.cap) is not None:
        return _whole(prepared, limits.cap)
    return _best(prepared, rank(), limits)


def _whole(prepared: PreparedCatalog, cap: int | None) -> Selection:
    rung, record = prepared.compact(cap)
    return Selection(catalog=prepared.catalog, text=prepared.whole(rung), record=record, cap=cap)


def _best(prepared: PreparedCatalog, ranking: Ranking, limits: SelectionLimits) -> Selection:
    assert limits.cap is not None
    candidates = _candidates(ranking, limits.max_entries)
    rungs, too_large = _fill(prepared, candidates, _named(ranking, candidates, limits), limits.cap)
    text = prepared.join(rungs)
    size = len(text.encode())
    labels = [*prepared.labels_of(rungs), "lexical.top_n"]
    if bare := sum(rung > prepared.last_rung for rung in rungs.values()):
        labels.append(f"lexical.bare_names({bare})")
    labels += [f"entry.too_large({entry_id})" for entry_id in too_large]
    labels += ranking.notes
    if is_unsure(ranking, limits.confidence):
        labels.append("lexical.low_confidence")
    if size > limits.cap:  # only when the cap is smaller than an empty catalog
        labels.append(f"still_over_budget({size}>{limits.cap})")
    left_out = len(prepared.catalog) - len(rungs)
    entries = prepared.catalog.entries
    steps = (*prepared.sizes(prepared.last_rung), TrimSize("lexical.top_n", size, len(rungs)))
    return Selection(
        catalog=Catalog(entries[i] for i in sorted(rungs)),
        text=text,
        record=TrimRecord(prepared.full_bytes, size, tuple(labels), len(rungs), left_out, steps),
        cap=limits.cap,
        ranking=ranking,
        depends_on_request=True,
    )


def _candidates(ranking: Ranking, max_entries: int) -> list[int]:
    """Positions of the entries that may be kept, best first.

    The best entry of every part of the request is among them, so that no part is left without a candidate. Entries that
    match nothing are left out as long as any entry matches.
    """
    limit = max_entries or len(ranking.scores)
    wanted = [index for index, _ in ranking.leading(limit)] or list(ranking.order[:limit])
    head = set(wanted)
    missing = [index for index in dict.fromkeys(ranking.clause_best) if index not in head][:limit]
    return wanted[: limit - len(missing)] + missing


def _named(ranking: Ranking, candidates: Sequence[int], limits: SelectionLimits) -> list[int]:
    """Positions of the entries that may follow by name alone, best first."""
    if not limits.bare_names:
        return []
    described = set(candidates)
    rest = (index for index in ranking.order if index not in described)
    return list(islice(rest, limits.bare_names))


def _fill(
    prepared: PreparedCatalog, candidates: Sequence[int], named: Sequence[int], cap: int
) -> tuple[dict[int, int], list[str]]:
    """Add entries in their smallest form while they fit, then names, then restore trimmed fields, best entries first."""
    last = prepared.last_rung
    lean = prepared.rung(last).fragments
    # Each list has one comma less than entries; the costs count one each, so up to two bytes may stay unused.
    room = cap - FRAME + 1
    chosen: dict[int, int] = {}
    too_large: list[str] = []
    for index in candidates:
        cost = len(lean[index]) + 1  # its comma
        if cost <= room:
            chosen[index] = last
            room -= cost
        elif cost > cap - FRAME + 1:
            too_large.append(prepared.catalog.entries[index].id)
    described = list(chosen)
    for index in named:
        cost = len(prepared.bare.fragments[index]) + 1
        if cost <= room:
            chosen[index] = last + 1
            room -= cost
    for index in described:
        for rung in range(last):
            extra = len(prepared.rung(rung).fragments[index]) - len(lean[index])
            if extra <= room:
                chosen[index] = rung
                room -= extra
                break
    return chosen, too_large
