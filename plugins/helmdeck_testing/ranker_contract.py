"""The contract test suite for rankers: subclass ``RankerContract`` in a test file, and pytest runs it.

::

    class TestSharedWords(RankerContract):
        plugin = acme_ranker
        name = "shared-words"
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from helmdeck_core import Catalog, RankContext, Ranker, RankIndex, Ranking
from helmdeck_testing.deck_factory import make_deck, provider_settings, unless_built_in

REQUESTS: Mapping[str, str] = {
    "plain": "remember this and draft a blog post about it",
    "other_language": "fasse den Text zusammen und übersetze ihn",
    "empty": "",
    "whitespace": " \n\t",
    "punctuation": "?!… — ///",
    "control": "\x00\x1b[31m plot a chart \x07",
    "scripts": "日本語に翻訳 🚢 Ω",
    "surrogate": "\ud800 plot a chart",
    "long": "search the web for tides " * 2_000,
    "pattern": "(a+)+$ [^ * .* \\",
}
"""Requests that a ranker must accept, by name."""


class RankerContract:
    """The contract test suite for rankers.

    :cvar plugin: the plugin that contributes the ranker.
    :cvar name: the name of the ranker.
    :cvar options: options other than the defaults.
    :cvar top: an entry must be among the first so many for its own description.
    :cvar share: the share of entries for which this must hold.
    """

    plugin: ClassVar[Any]
    name: ClassVar[str]
    options: ClassVar[Mapping[str, str | bool | int | float]] = {}
    top: ClassVar[int] = 3
    share: ClassVar[float] = 0.9

    @pytest.mark.parametrize("kind", REQUESTS)
    def test_every_entry_is_ranked_once_best_first_ties_by_id(self, kind: str) -> None:
        scores = tuple(self._ranked(REQUESTS[kind]).scores)
        entries = self._catalog.entries
        assert sorted(score.index for score in scores) == list(range(len(entries)))
        assert all(score.id == entries[score.index].id for score in scores)
        assert all(math.isfinite(score.score) and score.score >= 0 for score in scores)
        assert list(scores) == sorted(scores, key=lambda score: (-score.score, score.id))

    @pytest.mark.parametrize("kind", REQUESTS)
    def test_confidence_is_a_share(self, kind: str) -> None:
        ranking = self._ranked(REQUESTS[kind])
        assert 0 <= ranking.confidence <= 1
        assert all(0 <= each <= 1 for each in ranking.clause_confidence)
        assert all(0 <= index < len(self._catalog) for index in ranking.clause_best)

    def test_ranking_is_deterministic(self) -> None:
        index = self.build(self._catalog)
        request = REQUESTS["plain"]
        assert tuple(index.rank(request).scores) == tuple(index.rank(request).scores)
        assert tuple(index.rank(request).scores) == tuple(self.build(self._catalog).rank(request).scores)

    def test_order_of_the_catalog_does_not_matter(self) -> None:
        backwards = Catalog([*reversed(self._catalog.packs), *reversed(self._catalog.pipelines)])
        expected = [score.id for score in self._ranked(REQUESTS["plain"]).scores]
        assert [score.id for score in self.build(backwards).rank(REQUESTS["plain"]).scores] == expected

    def test_description_of_an_entry_finds_the_entry(self) -> None:
        index, entries = self.build(self._catalog), self._catalog.entries
        missed = [
            entry.id
            for entry in entries
            if entry.id not in [score.id for score in tuple(index.rank(entry.description).scores)[: self.top]]
        ]
        assert len(missed) <= (1 - self.share) * len(entries), f"not among the first {self.top}: {', '.join(missed)}"

    def test_empty_catalog_and_single_entry_are_ranked(self) -> None:
        assert tuple(self.build(Catalog()).rank(REQUESTS["plain"]).scores) == ()
        one = Catalog(self._catalog.packs[:1])
        assert [score.id for score in self.build(one).rank(REQUESTS["plain"]).scores] == [one.packs[0].id]

    def test_entries_with_nothing_but_a_name_are_ranked(self) -> None:
        data = {"packs": [{"name": "a"}, {"name": "b.c", "metadata": {"accepts": None, "x": [1, {"y": 2}]}}]}
        assert len(self.build(Catalog.from_data(data, "test")).rank("a").scores) == 2

    def test_catalog_is_not_changed(self) -> None:
        catalog = Catalog.from_data(copy.deepcopy(self._catalog.to_data()), "test")
        self.build(catalog).rank(REQUESTS["plain"])
        assert catalog.to_data() == self._catalog.to_data()

    def test_index_is_thread_safe(self) -> None:
        index = self.build(self._catalog)
        requests = [*REQUESTS.values()] * 3
        expected = [tuple(index.rank(request).scores) for request in requests]
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda request: tuple(index.rank(request).scores), requests))
        assert found == expected

    def test_deck_ranks_with_it(self) -> None:
        selection = {"ranker": self.name, "rankers": {self.name: dict(self.options)} if self.options else {}}
        with make_deck(*unless_built_in(self.plugin), config={"selection": selection}) as deck:
            ranking = deck.rank(REQUESTS["plain"])
            assert len(ranking.scores) == len(deck.catalog)

    # -- how it is run -------------------------------------------------------------------------------------

    def build(self, catalog: Catalog) -> RankIndex:
        """Build the index of a catalog; override it for a ranker that needs more than a ``RankContext`` without a base."""
        ranker = self._ranker
        options: dict[str, Any] = {**ranker.options, **self.options}
        if ranker.over or ranker.is_blocking:
            base = None
            if ranker.over:
                with make_deck(*unless_built_in(self.plugin)) as deck:
                    base = deck.runtime.contributed(Ranker)[ranker.over].value.index(catalog)
            options["context"] = RankContext(base=base, settings=provider_settings)
        return ranker.index(catalog, **options)

    def _ranked(self, request: str) -> Ranking:
        return self.build(self._catalog).rank(request)

    @property
    def _ranker(self) -> Ranker:
        ranker = next((each for each in self.plugin.helmdeck_rankers() if each.name == self.name), None)
        assert ranker is not None, f"the plugin contributes no ranker {self.name!r}"
        return ranker  # type: ignore[no-any-return]

    @property
    def _catalog(self) -> Catalog:
        return _example_catalog()


@functools.cache
def _example_catalog() -> Catalog:
    with make_deck() as deck:
        return deck.catalog
