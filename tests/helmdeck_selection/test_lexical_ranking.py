"""The lexical ranker over small catalogs."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Catalog, ConfigError, Ranking
from helmdeck_selection.lexical import helmdeck_rankers
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from tests.case_support import each_case


def pack(name: str, description: str = "", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "metadata": metadata}


def pipeline(id_: str, description: str = "", **metadata: Any) -> dict[str, Any]:
    return {"id": id_, "name": id_, "description": description, "metadata": metadata}


def catalog(packs: list[dict[str, Any]], pipelines: list[dict[str, Any]] | None = None) -> Catalog:
    return Catalog.from_data({"packs": packs, "pipelines": pipelines or []}, "test")


def rank(entries: Catalog, request: str) -> Ranking:
    return LexicalIndex(entries).rank(request)


def ids(ranking: Ranking) -> list[str]:
    return [score.id for score in ranking.scores]


GARDEN_WORDS = ("soil", "acidity", "bed", "insect", "leaf", "seed", "plant", "eat")
GARDEN = catalog(
    [
        pack("soil.test", "Measure acidity and nutrients of a soil sample.", intent_keywords=["check my soil"]),
        pack("plant.identify", "Name a plant from a photo of its leaves.", accepts=["image"]),
        pack("watering.schedule", "Plan when beds are watered.", typical_use="Before a holiday."),
        pack("pest.lookup", "Find which insect damages a leaf.", limitations=["no mammals such as moles"]),
        pack("seed.order", "Buy seeds from a nursery."),
    ],
    [
        pipeline(
            "new-bed",
            "Prepare a bed from soil to seed.",
            supersedes=["soil.test", "seed.order"],
            steps=[{"id": "a", "pack": "soil.test"}, {"id": "b", "pack": "seed.order"}],
        )
    ],
)


# -- what decides ----------------------------------------------------------------------------------------


def test_keyword_phrase_outranks_a_match_by_name_only() -> None:
    entries = catalog(
        [
            pack("quarterly.figures.report.sheet.mail", "Unrelated."),
            pack("zeta", "Unrelated too.", intent_keywords=["quarterly report"]),
        ]
    )
    ranking = rank(entries, "mail me the quarterly report with a sheet of figures")
    assert ids(ranking)[0] == "zeta"
    assert ranking.scores[0].score > ranking.scores[1].score


def test_entry_that_matches_only_the_verb_of_a_request_with_an_object_gets_half_of_its_score() -> None:
    entries = catalog([pack("valve.open", "Open a valve"), pack("page.visit", "Visit a page"), pack("page.print", "x")])
    (full,) = LexicalIndex(entries).weighted_scores({"open": 1.0}).values()
    scores = {score.id: score.score for score in rank(entries, "open the page").scores}
    assert scores["valve.open"] == pytest.approx(full / 2) and scores["page.visit"] > 0
    assert rank(entries, "open it").scores[0].score == pytest.approx(full)


def test_later_sentences_of_a_description_count_less_than_the_first() -> None:
    entries = catalog(
        [
            pack("alpha", "Returns the current balance of an account. Use it before an invoice is written."),
            pack("beta", "Writes an invoice for one of the customers. Use it after the balance is known."),
        ]
    )
    assert ids(rank(entries, "an invoice, please"))[0] == "beta"
    assert ids(rank(entries, "the balance, please"))[0] == "alpha"
    assert LexicalIndex(entries).rank("the balance").scores[1].matched == ("details:balance",)


def test_phrase_of_common_words_counts() -> None:
    crowd = [pack(f"get.record{n:03}", "Get a record.") for n in range(150)]
    entries = catalog([*crowd, pack("zeta", "Get a record.", intent_keywords=["get record"])])
    assert ids(rank(entries, "get the record please"))[0] == "zeta"


def test_camel_case_phrase_matches_lower_case() -> None:
    entries = catalog([pack("powerpoint.make", "x"), pack("zeta", "x", intent_keywords=["make the PowerPoint"])])
    assert ids(rank(entries, "make the powerpoint"))[0] == "zeta"


def test_word_and_its_synonym_are_not_a_phrase() -> None:
    entries = catalog(
        [pack("a", "x", intent_keywords=["draw a picture"]), pack("z", "x", intent_keywords=["the picture"])]
    )
    assert ids(rank(entries, "what is on this picture"))[0] == "z"


def test_partial_keyword_phrase_does_not_match() -> None:
    entries = catalog([pack("report", "x"), pack("zeta", "x", intent_keywords=["quarterly tax report"])])
    assert ids(rank(entries, "the report")) == ["report", "zeta"]


def test_phrase_of_stop_words_is_matched_verbatim() -> None:
    entries = catalog([pack("alpha", "x"), pack("omega", "x", intent_keywords=["what can you do"])])
    assert ids(rank(entries, "Hello, what can you do?"))[0] == "omega"
    assert rank(entries, "what do you can").scores[0].score == 0


def test_pipeline_outranks_its_superseded_pack_if_the_pack_is_named() -> None:
    ranked = ids(rank(GARDEN, "run seed.order"))
    assert ranked.index("new-bed") < ranked.index("seed.order")


def test_pipeline_gets_no_lead_over_a_pack_that_is_not_named() -> None:
    ranked = ids(rank(GARDEN, "buy something from a nursery"))
    assert ranked.index("seed.order") < ranked.index("new-bed")


def test_superseding_a_missing_pack_counts() -> None:
    entries = catalog([pack("alpha", "x")], [pipeline("omega", "y", supersedes=["old.pack"])])
    assert ids(rank(entries, "run old.pack"))[0] == "omega"


def test_equal_scores_are_ordered_by_id() -> None:
    entries = catalog([pack("c", "paint a fence"), pack("a", "paint a fence"), pack("b", "paint a fence")])
    assert ids(rank(entries, "paint my fence")) == ["a", "b", "c"]


@each_case("request_text", ["", "   \n", "?!", "the of and"])
def test_request_without_terms_scores_zero_and_orders_by_id(request_text: str) -> None:
    ranking = rank(GARDEN, request_text)
    assert {score.score for score in ranking.scores} == {0.0}
    assert ids(ranking) == sorted(entry.id for entry in GARDEN.entries)


@each_case(
    "variant",
    ["CHECK MY SOIL", "check my soil!!!", "Check, my soil?", "  check\tmy - soil. ", "«check my soil»"],
)
def test_case_and_punctuation_are_ignored(variant: str) -> None:
    plain = rank(GARDEN, "check my soil")
    other = rank(GARDEN, variant)
    assert [(s.id, s.score, s.matched) for s in other.scores] == [(s.id, s.score, s.matched) for s in plain.scores]


def test_camel_case_name_matches_its_words_and_lower_case() -> None:
    entries = catalog([pack("getTideTable", ""), pack("getTrainTable", ""), pack("sailBoat", "")])
    assert ids(rank(entries, "when is the tide"))[0] == "getTideTable"
    assert ids(rank(entries, "gettraintable"))[0] == "getTrainTable"
    assert ids(rank(entries, "GETTRAINTABLE"))[0] == "getTrainTable"


@each_case("word", ["calculations", "Calculating", "calculated", "calculator"])
def test_inflected_and_derived_forms_match(word: str) -> None:
    entries = catalog([pack("a", "Bake bread."), pack("b", "Calculate a mean.")])
    assert ids(rank(entries, word))[0] == "b"


@each_case(
    ("request_text", "best"),
    [
        ("请把这份报告翻译成英文", "zh"),
        ("какая завтра погода?", "ru"),
        ("montre-moi le CAFE le plus proche", "fr"),
        ("मुझे मौसम बताओ", "hi"),
    ],
)
def test_other_scripts_and_accents_match(request_text: str, best: str) -> None:
    entries = catalog(
        [
            pack("zh", "翻译文本"),
            pack("ru", "Погода и прогноз"),
            pack("fr", "Trouver un café"),
            pack("hi", "मौसम की जानकारी"),
        ]
    )
    assert ids(rank(entries, request_text))[0] == best


def test_rare_word_has_more_weight_than_a_common_one() -> None:
    entries = catalog(
        [pack(f"tool{n}", "Manage a customer record.") for n in range(9)] + [pack("zz", "Print a record sleeve.")]
    )
    assert ids(rank(entries, "customer sleeve"))[0] == "zz"


def test_long_entry_does_not_win_by_length() -> None:
    padding = " ".join(f"filler{n} of the long text" for n in range(60))
    entries = catalog([pack("a.long", f"Repair a bicycle. {padding}"), pack("b.short", "Repair a bicycle.")])
    assert ids(rank(entries, "repair a bicycle"))[0] == "b.short"
    assert rank(entries, "repair a bicycle").scores[1].score > 0


def test_limitation_has_little_weight() -> None:
    entries = catalog([pack("a", "Cut hedges.", limitations=["no moles"]), pack("b", "Catch moles.")])
    assert ids(rank(entries, "moles"))[0] == "b"


def test_every_field_of_the_full_metadata_is_searched() -> None:
    entries = catalog(
        [
            pack("a1", "", intent_keywords=["apricot"]),
            pack("a2", "", typical_use="for bananas"),
            pack("a3", "", accepts=["cherry"]),
            pack("a4", "", produces=["damson"]),
            {"name": "a5", "description": "", "input_schema": {"properties": {"elderberry": {}}}},
        ],
        [pipeline("a6", "", steps=[{"id": "s", "pack": "fig"}], inputs={"grape": {}}, outputs=["hazelnut"])],
    )
    found = {word: ids(rank(entries, word))[0] for word in ("apricot", "banana", "cherry", "damson", "elderberry")}
    assert list(found.values()) == ["a1", "a2", "a3", "a4", "a5"]
    assert [ids(rank(entries, word))[0] for word in ("fig", "grape", "hazelnut")] == ["a6"] * 3


def test_synonym_ranks_below_the_word_itself() -> None:
    entries = catalog([pack("a", "Sort a list."), pack("b", "Edit a picture."), pack("c", "Edit an illustration.")])
    assert ids(rank(entries, "an illustration")) == ["c", "b", "a"]


def test_common_terms_still_rank_a_large_catalog() -> None:
    crowd = [
        pack(f"get.record{n:04}", f"Get a record of the {'north' if n % 3 else 'south'} archive.") for n in range(3000)
    ]
    entries = catalog([*crowd, pack("zz.both", "Get a record of a heron in the south archive.")])
    ranking = rank(entries, "get me the record of a heron in the south archive")
    assert ranking.scores[0].id == "zz.both"
    assert sorted(score.index for score in ranking.scores) == list(range(3001))
    keys = [(-score.score, score.id) for score in ranking.scores]
    assert keys == sorted(keys) and ranking == rank(entries, "get me the record of a heron in the south archive")


def test_specific_word_matches_its_broader_term_only() -> None:
    entries = catalog([pack("a", "Show the weather."), pack("b", "Collect rain in a barrel."), pack("c", "Paint.")])
    assert [score.id for score in rank(entries, "will it be foggy?").scores if score.score] == ["a"]
    assert [score.id for score in rank(entries, "the weather").scores if score.score] == ["a"]


# -- several clauses -------------------------------------------------------------------------------------


def test_every_requesting_clause_has_a_best_entry() -> None:
    ranking = rank(GARDEN, "Identify the plant on this photo, check my soil, and plan the watering of the beds")
    assert [GARDEN.entries[index].id for index in ranking.clause_best] == [
        "plant.identify",
        "soil.test",
        "watering.schedule",
    ]
    assert len(ranking.clauses) == 3


def test_single_clause_has_no_vote() -> None:
    assert rank(GARDEN, "check my soil").clause_best == ()


@each_case(
    "request_text", ["soil acidity in the beds", "which insect eats a leaf, a seed or a plant", "bed from soil to seed"]
)
def test_scores_for_a_clause_are_complete_for_all_entries_close_to_the_best(request_text: str) -> None:
    index = LexicalIndex(
        catalog([pack(f"{n}", f"{a} {b}") for n, (a, b) in enumerate(product(GARDEN_WORDS, GARDEN_WORDS))])
    )
    (clause,) = index.read(request_text).clauses[:1]
    every, found = index.weighted_scores(dict.fromkeys(clause.terms, 1.0)), index.clause_scores(clause)
    close = [entry for entry, score in every.items() if score > 0.6 * max(every.values())]
    assert close and {entry: found[entry] for entry in close} == {entry: every[entry] for entry in close}


def test_entries_far_from_the_best_are_left_out_of_the_scores_for_a_clause() -> None:
    common = [pack(f"soil{n}", "Soil of a bed.") for n in range(60)]
    others = [pack(f"other{n}", "Leaf of a plant.") for n in range(60)]
    index = LexicalIndex(catalog([*common, *others, pack("rare", "Acidity of soil."), pack("rarer", "Acidity.")]))
    (clause,) = index.read("acidity of soil").clauses
    every, found = index.weighted_scores(dict.fromkeys(clause.terms, 1.0)), index.clause_scores(clause)
    assert len(every) == 62 and found == {120: every[120], 121: every[121]}


def test_short_clause_counts_next_to_a_long_one() -> None:
    decoys = [pack(f"cup{n}", "Describe a porcelain cup with a handle and a saucer.") for n in range(20)]
    entries = catalog([*decoys, pack("clock", "Set an alarm.")])
    request = "Describe the porcelain cup with the broken handle and its saucer, then set an alarm"
    assert "clock" in ids(rank(entries, request))[:12]


# -- explanation and shape -------------------------------------------------------------------------------


def test_best_entries_explain_their_matches() -> None:
    best = rank(GARDEN, "please check my soil").scores[0]
    assert best.id == "soil.test"
    assert best.matched[0] == "keyword:check my soil"
    assert "name:soil" in best.matched


def test_entries_without_match_have_no_explanation() -> None:
    assert rank(GARDEN, "check my soil").scores[-1].matched == ()


def test_clear_winner_has_confidence_and_no_match_has_none() -> None:
    assert rank(GARDEN, "which insect is this").is_confident()
    assert not rank(GARDEN, "").is_confident()
    assert rank(catalog([pack("a", "x")]), "nothing").is_confident()


def test_empty_catalog_has_an_empty_ranking() -> None:
    assert rank(catalog([]), "anything").scores == ()


@pytest.mark.parametrize(
    "metadata",
    [
        {"accepts": {"a": 1}, "produces": 7, "steps": "x", "inputs": ["a", 3, {"name": "b"}]},
        {"intent_keywords": [None, 3, {"x": 1}, ""], "typical_use": ["a"], "limitations": {"b": 2}},
        {"steps": [None, {"pack": 3}, ["x"]], "supersedes": ["", "?"]},
    ],
)
def test_metadata_of_any_shape_is_accepted(metadata: dict[str, Any]) -> None:
    entries = Catalog.from_data({"packs": [{"name": "a", "metadata": metadata}]}, "test")
    assert ids(rank(entries, "a b x")) == ["a"]


def test_hook_contributes_the_ranker_lexical() -> None:
    (ranker,) = helmdeck_rankers()
    assert ranker.name == "lexical"
    assert ranker.index(GARDEN).rank("check my soil").scores[0].id == "soil.test"


# -- laws ----------------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
WORDS = st.lists(
    st.sampled_from("soil seed plant leaf order check a the and, then. \n please buy".split(" ")), max_size=60
)


@given(st.one_of(ANY_TEXT, WORDS.map(" ".join)))
def test_ranking_is_a_deterministic_permutation_best_first(request_text: str) -> None:
    index = LexicalIndex(GARDEN)
    ranking = index.rank(request_text)
    assert sorted(score.index for score in ranking.scores) == list(range(len(GARDEN)))
    assert all(GARDEN.entries[score.index].id == score.id for score in ranking.scores)
    keys = [(-score.score, score.id) for score in ranking.scores]
    assert keys == sorted(keys)
    assert all(score.score >= 0 for score in ranking.scores)
    assert ranking == index.rank(request_text) == LexicalIndex(GARDEN).rank(request_text)


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=6), ANY_TEXT)
def test_any_text_can_be_a_catalog(texts: list[tuple[str, str]], request_text: str) -> None:
    entries = catalog([pack(f"p{n} {name}", text, intent_keywords=[name]) for n, (name, text) in enumerate(texts)])
    assert sorted(ids(rank(entries, request_text))) == sorted(entry.id for entry in entries.entries)


@given(WORDS, st.sampled_from(["lower", "upper", "title"]))
def test_case_is_ignored(words: list[str], change: str) -> None:
    request_text = " ".join(words)
    changed = getattr(request_text, change)()
    assert [(s.id, s.score) for s in rank(GARDEN, changed).scores] == [
        (s.id, s.score) for s in rank(GARDEN, request_text).scores
    ]


@given(
    st.lists(st.sampled_from("tide table boat sail fish net harbour".split()), min_size=1, max_size=5, unique=True),
    st.data(),
)
def test_matching_phrase_always_beats_a_name(name_words: list[str], data: st.DataObject) -> None:
    phrase = data.draw(st.lists(st.sampled_from(name_words), min_size=1, unique=True))
    entries = catalog([pack(".".join(name_words), "zzz"), pack("target", "yyy", intent_keywords=[" ".join(phrase)])])
    assert ids(rank(entries, " ".join(name_words)))[0] == "target"


@each_case(
    ("request_", "first"),
    [
        ("astrologers near me", "strology"),  # spelt nearly like the word of the catalog
        ("fidn my emial", "mail.search"),  # two swapped letters of a synonym
        ("place more ads", "ad.booster"),  # the plural of a word of two letters
        ("a lipstick for dry skin", "beauty.shelf"),  # a case of what the entry is about
        ("suggest a good cellar", "wine.cellar"),  # what people say whatever they want counts for less
    ],
)
def test_misspelt_and_related_words_match(request_: str, first: str) -> None:
    entries = catalog(
        [
            pack("suggestion.box", "Suggest something good."),
            pack("strology", "Ask the stars."),
            pack("mail.search", "The letters of a mailbox."),
            pack("ad.booster", "An ad that is seen."),
            pack("beauty.shelf", "Cosmetics and more beauty."),
            pack("wine.cellar", "Bottles that wait in the cellar for their time, in good order."),
        ]
    )
    assert ids(rank(entries, request_))[0] == first


def test_field_weights_are_configurable(deck_with):
    request = "water the beds"
    config = {"selection": {"rankers": {"lexical": {"description": 0.0, "name": 9.0, "clause_vote": 0.0}}}}
    plain, set_ = deck_with(), deck_with(config=config)
    both = [deck.rank("draft a blog post about it and mail the minutes") for deck in (plain, set_)]
    assert [score.score for score in both[0].scores] != [score.score for score in both[1].scores]
    assert sorted(score.id for score in both[0].scores) == sorted(score.id for score in both[1].scores)
    assert plain.rank(request) == deck_with().rank(request)


def test_unknown_weight_is_a_mistake_with_the_valid_names(deck_with):
    with pytest.raises(ConfigError, match="did you mean 'description'"):
        deck_with(config={"selection": {"rankers": {"lexical": {"descripton": 1.0}}}})


def test_decks_of_equal_catalogs_share_an_index_unless_it_is_large_or_has_word_files(tmp_path: Any) -> None:
    (ranker,) = helmdeck_rankers()

    def catalog(entries: int) -> Catalog:
        return Catalog.from_data({"packs": [{"name": f"tool.{number}"} for number in range(entries)]}, "shared")

    shared = ranker.index(catalog(3))
    assert ranker.index(catalog(3)) is shared
    assert ranker.index(catalog(2)) is not shared and ranker.index(catalog(3), meaning=0.0) is not shared
    assert ranker.index(catalog(501), meaning=0.0) is not ranker.index(catalog(501), meaning=0.0)
    (tmp_path / "words.toml").write_text('synonyms = ["tool gadget"]\n')
    words = str(tmp_path / "words.toml")
    assert ranker.index(catalog(3), words=words) is not ranker.index(catalog(3), words=words)
