"""The catalog of one deck and what is derived from it: indexes, ladders, selections."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from helmdeck_core.config.precedence import SelectionRules
from helmdeck_core.context.catalog_digest import CatalogDigest, listing
from helmdeck_core.context.history_prior import with_prior
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.context.llm_filter import preferring
from helmdeck_core.context.prompt_layout import BYTES_PER_TOKEN, MESSAGE_TOKENS
from helmdeck_core.context.selection import SelectionLimits, select
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog, TrimRecord, TrimSize, TrimStep
from helmdeck_core.domain.models import Budget, Tier
from helmdeck_core.domain.providers import ProviderSettings
from helmdeck_core.domain.questions import CatalogIndex, Selection
from helmdeck_core.domain.ranking import LazyScores, RankContext, Ranker, RankIndex, Ranking, Score
from helmdeck_core.errors import ContextWindowExceeded
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.resolve.budgets import REMEMBERED
from helmdeck_core.resolve.runtime import Runtime

SMALLEST_CATALOG_BYTES = 512
"""Below this no useful entry fits; the request itself is too large."""

LARGE_CATALOG = 500
"""Entries from which on the ladder and the index are computed in a worker thread: they take 0.1 s and more."""


class Library:
    """One version of the catalog, loaded at the first use, with its cached indexes and ladders; thread-safe.

    :param settings: returns the settings of a provider by name.
    :param is_slow: ``load`` blocks for long.
    """

    def __init__(
        self,
        runtime: Runtime,
        load: Callable[[], Catalog],
        settings: Callable[[str], ProviderSettings],
        *,
        is_slow: bool = False,
    ) -> None:
        self.runtime = runtime
        self._load = load
        self._settings = settings
        self._is_slow = is_slow
        self._lock = threading.RLock()
        # An index may take seconds in a worker thread, while the event loop needs the rest of the library.
        self._index_lock = threading.RLock()
        self._catalog: Catalog | None = None
        self._indexes: dict[tuple[object, ...], RankIndex] = {}
        self._prepared: dict[tuple[str, ...], PreparedCatalog] = {}
        self._digest: CatalogDigest | None = None
        self._rules: dict[tuple[Tier, str], SelectionRules] = {}
        self._warm: set[tuple[object, ...]] = set()

    @property
    def catalog(self) -> Catalog:
        """All entries; loaded at the first use.

        :raises CatalogError: a source cannot be read.
        """
        if self._catalog is None:
            with self._lock:
                self._catalog = self._catalog or self._load()
        return self._catalog

    async def load(self) -> Catalog:
        """Return the catalog; the event loop is not blocked for long."""
        is_slow = self._is_slow and self._catalog is None
        return await asyncio.to_thread(getattr, self, "catalog") if is_slow else self.catalog

    @property
    def digest(self) -> CatalogDigest:
        """The short forms of the catalog, with descriptions after all trim steps."""
        if self._digest is None:
            with self._lock:
                steps = tuple(self.runtime.contributed(TrimStep).values())
                self._digest = self._digest or CatalogDigest(self._prepare(steps))
        return self._digest

    def prepared(self, budget: Budget) -> PreparedCatalog:
        """Return the catalog with the ladder that applies to a model."""
        return self._prepare(self.runtime.ladder(budget.tier, budget.model))

    def _prepare(self, steps: Sequence[Contribution[TrimStep]]) -> PreparedCatalog:
        key = tuple(step.value.name for step in steps)
        if key not in self._prepared:
            with self._lock:
                if key not in self._prepared:
                    self._prepared[key] = PreparedCatalog(self.catalog, steps, self.runtime.emit)
        return self._prepared[key]

    def is_cold(self, budget: Budget) -> bool:
        """Whether the first selection for a model would block the event loop for long."""
        return len(self.catalog) >= LARGE_CATALOG and self._warm_key(budget) not in self._warm

    def is_blocking(self, budget: Budget) -> bool:
        """Whether the ranker for a model has to run in a worker thread."""
        return self.runtime.contributed(Ranker)[self.rules(budget).ranker].value.is_blocking

    def warm(self, budget: Budget) -> None:
        """Compute everything that a selection for a model needs of the catalog alone; thread-safe.

        :raises PluginError: a trim step or the ranker failed.
        :raises ConfigError: a file of the ranker's options has mistakes.
        """
        if self.prepared(budget).fitting_rung(self.limits(budget, 0).cap) is None:
            rules = self.rules(budget)
            contribution = self.runtime.contributed(Ranker)[rules.ranker]
            with contribution.faults(f"ranker {contribution.value.name!r}: "):
                self._index(contribution, rules)
        self._warm.add(self._warm_key(budget))

    def _warm_key(self, budget: Budget) -> tuple[object, ...]:
        rules = self.rules(budget)
        steps = (step.value.name for step in self.runtime.ladder(budget.tier, budget.model))
        return (*steps, budget.max_catalog_bytes, rules.ranker, *sorted(rules.options.items()))

    def rules(self, budget: Budget) -> SelectionRules:
        """Return the selection rules for a model."""
        key = (budget.tier, budget.model)
        known = self._rules.get(key)
        if known is None:
            if len(self._rules) >= REMEMBERED:
                self._rules.clear()
            known = self._rules[key] = self.runtime.selection(*key)
        return known

    # -- selections ----------------------------------------------------------------------------------------

    def limits(self, budget: Budget, other_tokens: int) -> SelectionLimits:
        """Return the limits of a selection: the budget's cap, and what the rest of the prompt leaves of the window.

        :param other_tokens: tokens of everything in the prompt that is not the catalog.
        """
        rules = self.rules(budget)
        room = self._room(budget, other_tokens)
        cap = budget.max_catalog_bytes
        # A catalog that fits the window needs no cap, and is neither ranked nor trimmed.
        if cap is None and self.prepared(budget).full_bytes > room:
            cap = room
        elif cap is not None:
            cap = min(cap, room)
        # ``fitting_rung`` takes 0 and less for no limit.
        cap = cap if cap is None else max(cap, 1)
        return SelectionLimits(
            cap=cap, max_entries=rules.max_entries, confidence=rules.confidence, bare_names=rules.bare_names
        )

    def select(
        self, budget: Budget, request: str, other_tokens: int = 0, planned: Mapping[str, float] = EMPTY
    ) -> Selection:
        """Fit the catalog to a model and a request.

        :param planned: weights of ids whose scores are raised, 0 to 1, the highest first.
        :raises ContextWindowExceeded: the rest of the prompt leaves no room for any entry.
        """
        index, limits, cap = self._prefix_and_limits(budget, other_tokens)
        selection = select(self.prepared(budget), lambda: self.rank(request, budget, planned), limits)
        return selection if index is None else _after_index(index, selection, cap)

    def single(self, budget: Budget, other_tokens: int, entry_id: str) -> Selection:
        """Return the selection of one entry alone, in the richest form that fits the budget; of none for an empty id.

        :raises ContextWindowExceeded: the rest of the prompt leaves no room for any entry.
        """
        self._check_room(budget, other_tokens)
        prepared, cap = self.prepared(budget), self.limits(budget, other_tokens).cap
        places = self._places([entry_id] if entry_id else [])
        text = ""
        for rung in range(prepared.last_rung + 1):
            text = prepared.join(dict.fromkeys(places, rung))
            if cap is None or len(text.encode()) <= cap:
                break
        left_out = len(prepared.catalog) - len(places)
        size = TrimSize("chosen", len(text.encode()), len(places))
        record = TrimRecord(prepared.full_bytes, size.after_bytes, (size.step,), size.entries, left_out, (size,))
        catalog = Catalog(prepared.catalog.entries[place] for place in places)
        return Selection(catalog=catalog, text=text, record=record, cap=cap, depends_on_request=True)

    def narrow(self, selection: Selection, budget: Budget, other_tokens: int, picks: Iterable[str]) -> Selection:
        """Merge a ranked selection with the entries that a filter call named, and fit it again.

        :param picks: ids of entries.
        """
        ranking = selection.ranking
        assert ranking is not None
        index, limits, cap = self._prefix_and_limits(budget, other_tokens)
        entries = self.catalog.entries
        survivors = [place for place in ranking.order if selection.catalog.get(entries[place].id) is not None]
        wanted = self._places(picks)
        order = preferring(ranking, survivors, wanted)
        narrowed = select(self.prepared(budget), lambda: order, limits)
        label = f"llm_filter(picks={len(wanted)},kept={len(narrowed.catalog)})"
        record = narrowed.record
        filtered = TrimSize("llm_filter", record.after_bytes, record.kept_entries)
        steps = (*selection.record.steps, filtered)
        record = attrs.evolve(record, dropped=(*record.dropped, label), steps=steps)
        narrowed = attrs.evolve(narrowed, ranking=ranking, record=record)
        return narrowed if index is None else _after_index(index, narrowed, cap)

    def _places(self, ids: Iterable[str]) -> list[int]:
        """Positions of the entries that exist."""
        wanted = [entry for each in ids if (entry := self.catalog.get(each)) is not None]
        if not wanted:
            return []
        places = {entry.id: place for place, entry in enumerate(self.catalog.entries)}
        return [places[entry.id] for entry in wanted]

    def _prefix_and_limits(
        self, budget: Budget, other_tokens: int
    ) -> tuple[CatalogIndex | None, SelectionLimits, int | None]:
        """The index in the cached prefix, the limits of the selection after it, and the cap for both."""
        self._check_room(budget, other_tokens)
        limits = self.limits(budget, other_tokens)
        index = self._prefix_index(budget, limits)
        if index is None or limits.cap is None:
            return None, limits, limits.cap
        # Every call pays in full for what follows the prefix, so it does not get all the room.
        weights = self.runtime.weights
        share = 1 - weights["index.described_share" if index.is_described else "index.named_share"]
        return (
            index,
            attrs.evolve(limits, cap=min(limits.cap - index.size, int(limits.cap * share)), bare_names=0),
            limits.cap,
        )

    def listing(self, budget: Budget, request: str, other_tokens: int) -> Selection:
        """Return all ids with short descriptions, as many as a model can take.

        :raises ContextWindowExceeded: the rest of the prompt leaves no room for any entry.
        """
        self._check_room(budget, other_tokens)
        room = self._room(budget, other_tokens)
        if budget.max_catalog_bytes is not None:
            room = min(room, max(budget.max_catalog_bytes, int(self.runtime.weights["listing.min_bytes"])))
        ranking: list[Ranking] = []

        def order() -> Sequence[int]:
            ranking.append(self.rank(request, budget))
            return ranking[0].order

        text, labels, kept = listing(self.digest, order, room)
        size, left_out = len(text.encode()), len(self.catalog) - kept
        steps = (TrimSize(labels[-1].partition("(")[0] if labels else "listing", size, kept),)
        record = TrimRecord(self.prepared(budget).full_bytes, size, labels, kept, left_out, steps)
        return Selection(
            catalog=self.catalog, text=text, record=record, cap=room,
            ranking=ranking[0] if ranking else None, depends_on_request=bool(ranking),
        )  # fmt: skip

    def _prefix_index(self, budget: Budget, limits: SelectionLimits) -> CatalogIndex | None:
        """The index for a cached prefix, where the catalog has to be ranked; ``None`` when it does not fit."""
        if not (budget.supports_prefix_cache and self.rules(budget).prefix_index) or limits.cap is None:
            return None
        if self.prepared(budget).fitting_rung(limits.cap) is not None:
            return None
        weights = self.runtime.weights
        described, named = weights["index.described_share"], weights["index.named_share"]
        return self.digest.index(limits.cap * described, limits.cap * named)

    def _check_room(self, budget: Budget, other_tokens: int) -> None:
        room = self._room(budget, other_tokens)
        if room < SMALLEST_CATALOG_BYTES and self.prepared(budget).full_bytes > room:
            raise ContextWindowExceeded(
                "the request leaves no room for a catalog",
                budget.model,
                sub_cause="no_room",
                detail=f"the prompt without it has about {other_tokens:,} tokens, the budget is {budget.input_tokens:,}",
            )

    def _room(self, budget: Budget, other_tokens: int) -> int:
        """Bytes of the window that are left for a catalog; negative when the rest alone is too large."""
        return (budget.input_tokens - other_tokens - MESSAGE_TOKENS) * BYTES_PER_TOKEN

    # -- rankings ------------------------------------------------------------------------------------------

    def rank(self, request: str, budget: Budget, planned: Mapping[str, float] = EMPTY) -> Ranking:
        """Rank the whole catalog for a request with the ranker of a model.

        :param planned: as for ``select``.
        :raises PluginError: the ranker raised, or left out or repeated an entry.
        :raises ConfigError: a file of the ranker's options has mistakes.
        """
        rules = self.rules(budget)
        contribution = self.runtime.contributed(Ranker)[rules.ranker]
        with contribution.faults(f"ranker {contribution.value.name!r}: "):
            ranking = self._index(contribution, rules).rank(request)
            if not isinstance(ranking, Ranking):
                raise TypeError(f"rank returned {type(ranking).__name__}, not Ranking")
            places = range(len(self.catalog))
            _check_scores(ranking.scores, len(places))
            if not all(index in places for index in ranking.clause_best):
                raise ValueError("clause_best names entries of the catalog")
        known = {entry_id: weight for entry_id, weight in planned.items() if self.catalog.get(entry_id) is not None}
        gains = dict(zip(self._places(known), known.values(), strict=True))
        return with_prior(ranking, gains, self.runtime.weights)

    def _index(self, contribution: Contribution[Ranker], rules: SelectionRules) -> RankIndex:
        """A ranker's index of the full catalog; built at the first use."""
        ranker = contribution.value
        options = {**ranker.options, **rules.rankers.get(ranker.name, EMPTY)}
        rankers = self.runtime.contributed(Ranker)
        if ranker.over and ranker.over not in rankers:
            raise ValueError(f"over: there is no ranker {ranker.over!r}; rankers: {', '.join(sorted(rankers))}")
        base = self._index(rankers[ranker.over], rules) if ranker.over else None
        key = (ranker.name, id(base), *sorted(options.items()))
        if key not in self._indexes:
            context = {"context": RankContext(base=base, settings=self._settings)} if base or ranker.is_blocking else {}
            with self._index_lock:
                if key not in self._indexes:
                    self._indexes[key] = ranker.index(self.catalog, **options, **context)
        return self._indexes[key]


def _after_index(index: CatalogIndex, selection: Selection, cap: int | None) -> Selection:
    """The selection after an index of all entries; the record counts the bytes of both."""
    record = selection.record
    labels = (*record.dropped, f"prefix_index({index.form})")
    size = TrimSize("prefix_index", record.after_bytes + index.size, record.kept_entries)
    record = attrs.evolve(record, after_bytes=size.after_bytes, dropped=labels, steps=(*record.steps, size))
    return attrs.evolve(selection, index=index, record=record, cap=cap)


def _check_scores(scores: Sequence[Score], entries: int) -> None:
    is_lazy = isinstance(scores, LazyScores)  # it checks its numbers itself
    if len(scores) != entries or not (is_lazy or {score.index for score in scores} == set(range(entries))):
        raise ValueError("a ranking holds every entry of the catalog once")
    if not (is_lazy or all(score.score >= 0 for score in scores)):
        raise ValueError("a score is a number of at least 0")
    if not (is_lazy or all(better.score >= worse.score for better, worse in itertools.pairwise(scores))):
        raise ValueError("a ranking begins with the highest score, and no score is higher than the one before it")
