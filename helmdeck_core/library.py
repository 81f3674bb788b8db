"""The catalog of one deck with everything that is made of it: indexes, ladders, selections."""

from __future__ import annotations

import threading

from helmdeck_core.catalogs import load_catalog
from helmdeck_core.domain.asking import Selection
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.ranking import RankIndex, Ranking
from helmdeck_core.errors import ContextWindowExceeded, PluginError
from helmdeck_core.ladder import PreparedCatalog
from helmdeck_core.prompting import BYTES_PER_TOKEN
from helmdeck_core.runtime import Runtime
from helmdeck_core.selection import Limits, select

MESSAGE_TOKENS = 64
"""Room for what a chat template adds around two messages."""

SMALLEST_CATALOG_BYTES = 512
"""Below this no useful entry fits, and the request itself is what is too large."""


class Library:
    """The catalog, loaded at the first use; its index and its ladders are made once and kept."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        # Several threads may be the first at once.
        self._lock = threading.RLock()
        self._catalog: Catalog | None = None
        self._index: RankIndex | None = None
        self._prepared: dict[tuple[str, ...], PreparedCatalog] = {}

    @property
    def catalog(self) -> Catalog:
        """Everything that can be planned; loaded at the first use.

        :raises CatalogError: a source cannot be read.
        """
        if self._catalog is None:
            with self._lock:
                self._catalog = self._catalog or load_catalog(self.runtime)
        return self._catalog

    @property
    def index(self) -> RankIndex:
        """The configured ranker's index of the full catalog; built at the first use."""
        if self._index is None:
            with self._lock:
                if self._index is None:
                    owned = self.runtime.rankers[self.runtime.config.selection.ranker]
                    try:
                        self._index = owned.value.index(self.catalog)
                    except (Exception, SystemExit) as exc:
                        raise self._ranker_failed(exc) from exc
        return self._index

    def prepared(self, budget: Budget) -> PreparedCatalog:
        """The catalog with all rungs of the ladder that applies to a model."""
        steps = self.runtime.ladder(budget.tier, budget.model)
        key = tuple(step.value.name for step in steps)
        if key not in self._prepared:
            with self._lock:
                if key not in self._prepared:
                    self._prepared[key] = PreparedCatalog(self.catalog, steps, self.runtime.emit)
        return self._prepared[key]

    def limits(self, budget: Budget, other_tokens: int) -> Limits:
        """What a selection must keep to: the budget's cap, and what the window leaves beside the rest of the prompt.

        :param other_tokens: tokens of everything in the prompt that is not the catalog.
        """
        rules = self.runtime.config.selection
        room = self._room(budget, other_tokens)
        cap = budget.max_catalog_bytes
        # A catalog that the window takes whole needs no cap, and then nothing may be ranked or trimmed.
        if cap is None and self.prepared(budget).full_bytes > room:
            cap = room
        elif cap is not None:
            cap = min(cap, room)
        # The fitting takes 0 and less for no limit; one byte is the smallest limit there is.
        cap = cap if cap is None else max(cap, 1)
        return Limits(cap=cap, max_entries=rules.max_entries[budget.tier], confidence=rules.confidence)

    def select(self, budget: Budget, request: str, other_tokens: int = 0) -> Selection:
        """Fit the catalog to a model and a request.

        :raises ContextWindowExceeded: the rest of the prompt leaves no room for any entry.
        """
        limits = self.limits(budget, other_tokens)
        room = self._room(budget, other_tokens)
        if room < SMALLEST_CATALOG_BYTES and self.prepared(budget).full_bytes > room:
            raise ContextWindowExceeded(
                "the request leaves no room for a catalog",
                budget.model,
                detail=f"the prompt without it has about {other_tokens:,} tokens, the budget is {budget.input_tokens:,}",
            )
        return select(self.prepared(budget), self, request, limits)

    def _room(self, budget: Budget, other_tokens: int) -> int:
        """Bytes that the model's window leaves for a catalog; below 0 when the rest alone is too large."""
        return (budget.input_tokens - other_tokens - MESSAGE_TOKENS) * BYTES_PER_TOKEN

    def rank(self, request: str) -> Ranking:
        """Order the whole catalog for a request; the index is built if nobody has needed it before.

        :raises PluginError: the ranker raised, or left out or repeated an entry.
        """
        index = self.index
        try:
            ranking = index.rank(request)
            places = range(len(self.catalog))
            if sorted(score.index for score in ranking.scores) != list(places):
                raise ValueError("a ranking holds every entry of the catalog once")
            if not all(score.score >= 0 for score in ranking.scores):
                raise ValueError("a score is a number of at least 0")
            if not all(index in places for index in ranking.clause_best):
                raise ValueError("clause_best names entries of the catalog")
        except (Exception, SystemExit) as exc:
            raise self._ranker_failed(exc) from exc
        return ranking

    def _ranker_failed(self, exc: BaseException) -> PluginError:
        owned = self.runtime.rankers[self.runtime.config.selection.ranker]
        return owned.fault(f"ranker {owned.value.name!r}: {type(exc).__name__}: {exc}")
