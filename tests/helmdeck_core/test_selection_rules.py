"""Selection rules of a deployment: global, for a tier, for a model; and their mistakes."""

import asyncio
import contextlib
import threading

import pytest

from helmdeck_core import ConfigError, HelmdeckError, PluginError, Ranker, Ranking, Score, Tier, hookimpl
from helmdeck_core.config.precedence import matching_prefixes
from helmdeck_testing import make_deck

FREE = "openrouter/openrouter/free"


class Options:
    """A ranker with options, that remembers what its indexes were made with."""

    def __init__(self):
        self.made = []

    @hookimpl
    def helmdeck_rankers(self):
        def index(catalog, **options):
            self.made.append(options)
            return self

        return [Ranker(name="mine", index=index, options={"weight": 1.5, "stem": True, "language": "en", "depth": 3})]

    def rank(self, request):
        return Ranking(tuple(Score(n, str(n), 0.0) for n in range(70)))


@pytest.fixture
def mine(deck_with):
    def make(selection):
        plugin = Options()
        return deck_with(plugin, config={"selection": selection}), plugin

    return make


def test_model_rule_overrides_tier_rule_overrides_default_per_field(deck_with):
    rules = {
        "shortlist": 5,
        "confidence": 0.2,
        "tiers": {"C": {"max_entries": 9, "confidence": 0.3}},
        "models": {"acme/": {"confidence": 0.5}, "Acme/Large": {"max_entries": 40}},
    }
    runtime = deck_with(config={"selection": rules}).runtime

    def fields(tier, model):
        found = runtime.selection(tier, model)
        return found.max_entries, found.confidence, found.shortlist

    assert fields(Tier.B, "other/x") == (25, 0.2, 5)
    assert fields(Tier.C, "other/x") == (9, 0.3, 5)
    assert fields(Tier.C, "ACME/small") == (9, 0.5, 5)
    assert fields(Tier.C, " acme/large-2 ") == (40, 0.5, 5)


def test_every_rule_has_its_source(tmp_path):
    file = tmp_path / "helmdeck.toml"
    file.write_text(
        '[selection]\nshortlist = 5\n[selection.tiers.C]\nmax_entries = 9\n[selection.models."acme/"]\nfilter = true\n'
    )
    with make_deck(file=file) as deck:
        sources = deck.runtime.selection(Tier.C, "acme/x").sources
    assert sources == {
        "shortlist": "helmdeck.toml: selection.shortlist",
        "max_entries": "helmdeck.toml: selection.tiers.C.max_entries",
        "filter": 'helmdeck.toml: selection.models."acme/".filter',
    }


def test_prefixes_match_the_same_in_budgets_ladders_and_selection(deck_with):
    assert matching_prefixes(["a/", " A/B ", "c/"], ["a/bc"]) == ("a/", " A/B ")
    assert matching_prefixes(["wrap/", "a/bc"], ["a/bc", "wrap/a/bc"]) == ("a/bc", "wrap/"), "its own name outranks"
    prefix = " ACME/ "
    config = {
        "budgets": {prefix: {"output_tokens": 7}},
        "compaction": {"models": {prefix: {"order": []}}},
        "selection": {"models": {prefix: {"shortlist": 1}}},
    }
    deck = deck_with(config=config)
    assert deck.budget("acme/x").budget.output_tokens == 7
    assert deck.runtime.ladder(Tier.C, "acme/x") == ()
    assert deck.runtime.selection(Tier.C, "acme/x").shortlist == 1


def test_ranker_gets_defaults_and_configured_options(mine):
    deck, plugin = mine({"ranker": "mine", "rankers": {"mine": {"weight": 2}}})
    deck.rank("x")
    assert plugin.made == [{"weight": 2, "stem": True, "language": "en", "depth": 3}]


def test_options_differ_by_tier_and_model_and_each_set_has_one_index(mine):
    rules = {
        "ranker": "mine",
        "rankers": {"mine": {"depth": 1}},
        "tiers": {"C": {"rankers": {"mine": {"weight": 9.0}}}},
        "models": {"acme/": {"rankers": {"mine": {"depth": 2}}}, "other/": {"ranker": "lexical"}},
    }
    deck, plugin = mine(rules)
    for model in ("acme/x", "acme/y", "unknown/z", "openai/gpt-4o", "other/x"):
        deck.rank("x", model=model)
    assert [(each["weight"], each["depth"]) for each in plugin.made] == [(9.0, 2), (9.0, 1), (1.5, 1)]


def test_a_ranker_without_options_is_called_with_the_catalog_alone(deck_with):
    class Plain:
        @hookimpl
        def helmdeck_rankers(self):
            return [Ranker(name="plain", index=lambda catalog: Options())]

    assert deck_with(Plain(), config={"selection": {"ranker": "plain"}}).rank("x").scores


def test_every_mistake_is_found_at_once_with_what_is_allowed(mine):
    wrong = {
        "confidence": 3,
        "rankers": {
            "mine": {"wieght": 1, "weight": "a lot", "stem": 1, "depth": 1.5, "language": 4},
            "yours": {"x": 1},
        },
        "tiers": {"B": {"ranker": "lexicle", "confidence": 2}},
        "models": {"acme/": {"rankers": {"lexical": {"no_such_option": 1}}}},
    }
    with pytest.raises(ConfigError) as caught:
        mine(wrong)
    text = str(caught.value)
    for words in (
        "selection.confidence: not between 0 and 1",
        "selection.rankers.mine.wieght: unknown option of the ranker (did you mean 'weight'?)",
        "allowed: weight, stem, language, depth",
        "selection.rankers.mine.weight: not a number, found 'a lot'",
        "selection.rankers.mine.stem: not a boolean, found 1",
        "selection.rankers.mine.depth: not an integer, found 1.5",
        "selection.rankers.mine.language: not a string, found 4",
        "selection.rankers.yours: unknown ranker",
        "selection.tiers.B.ranker: unknown ranker (did you mean 'lexical'?)",
        "selection.tiers.B.confidence: not between 0 and 1",
        'selection.models."acme/".rankers.lexical.no_such_option: unknown option of the ranker',
    ):
        assert words in text, text
    assert len(caught.value.mistakes) == 10


def test_unknown_rule_is_a_mistake(deck_with):
    with pytest.raises(ConfigError, match=r"selection\.tiers\.C\.max_entry: unknown key \(did you mean 'max_entries'"):
        deck_with(config={"selection": {"tiers": {"C": {"max_entry": 3}}}})
    with pytest.raises(ConfigError, match=r"selection\.tiers\.D: not a tier"):
        deck_with(config={"selection": {"tiers": {"D": {"max_entries": 3}}}})


class Built:
    """A ranker over another one."""

    def __init__(self, **fields):
        self.fields, self.contexts, self.threads = fields, [], []

    @hookimpl
    def helmdeck_rankers(self):
        def index(catalog, *, context):
            self.contexts.append(context)
            return self

        return [Ranker(name="built", index=index, **self.fields)]

    def rank(self, request):
        self.threads.append(threading.current_thread())
        return Ranking(tuple(Score(n, str(n), 0.0) for n in range(70)), notes=("built.note",))


def test_ranker_over_another_one_gets_its_index_with_the_options_of_that_one(deck_with):
    below, above = Options(), Built(over="mine")
    rankers = {"ranker": "built", "rankers": {"mine": {"depth": 5}}}
    deck = deck_with(
        below,
        above,
        config={"selection": rankers, "providers": {"own": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}}},
    )
    deck.rank("anything")
    (context,) = above.contexts
    assert context.base is below and below.made[0]["depth"] == 5
    assert context.settings("own").base_url == "http://127.0.0.1:9/v1"


def test_ranker_over_one_that_does_not_exist_is_reported_as_its_fault(deck_with):
    with pytest.raises(PluginError, match="ranker 'built'.*'lexicle'"):
        deck_with(Built(over="lexicle"), config={"selection": {"ranker": "built"}}).rank("anything")


def test_notes_of_a_ranking_are_labels_of_the_selection(deck_with):
    deck = deck_with(Built(is_blocking=True), config={"selection": {"ranker": "built"}})
    assert "built.note" in deck.select("anything", model=FREE).record.dropped


@pytest.mark.parametrize("is_blocking", [True, False])
def test_only_a_blocking_ranker_runs_outside_the_event_loop(deck_with, is_blocking):
    ranker = Built(is_blocking=is_blocking, over="lexical")

    async def plan():
        async with deck_with(ranker, config={"selection": {"ranker": "built"}}) as deck:
            with contextlib.suppress(HelmdeckError):
                await deck.aplan("anything", model=FREE)
        return threading.current_thread()

    loop_thread = asyncio.run(plan())
    assert ranker.threads and (loop_thread in ranker.threads) != is_blocking
