"""Selection: the entries for a model, never more than it accepts."""

import asyncio
import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import Catalog, Ranker, Ranking, Score, TrimSize, TrimStep, hookimpl
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.context.selection import SelectionLimits, select
from helmdeck_core.domain.ranking import should_escalate
from helmdeck_core.hooks.calls import Contribution
from helmdeck_testing import make_deck
from tests.case_support import each_case


class FixedIndex:
    """Ranks by a given order of ids; the first scores highest."""

    def __init__(self, catalog, expected, clause_best=(), zeros=()):
        places = {entry.id: number for number, entry in enumerate(catalog.entries)}
        order = [*expected, *sorted(set(places) - set(expected))]
        self.ranking = Ranking(
            tuple(Score(places[i], i, 0.0 if i in zeros else float(len(order) - n)) for n, i in enumerate(order)),
            clause_best=tuple(places[i] for i in clause_best),
        )

    def rank(self, request=""):
        return self.ranking


def first_sentence(entry, data):
    return {**data, "description": data["description"].partition(". ")[0]}


def catalog_of(sizes):
    packs = [{"name": f"p{n}", "description": f"{n}. " + "x" * size} for n, size in enumerate(sizes)]
    return Catalog.from_data({"packs": packs}, "test")


def prepare(catalog):
    return PreparedCatalog(catalog, [Contribution("t", TrimStep(name="first", trim=first_sentence))])


def ids(selection):
    return [entry.id for entry in selection.entries]


def test_without_a_cap_everything_passes_and_nothing_is_ranked():
    catalog = catalog_of([100] * 5)
    selection = select(prepare(catalog), FixedIndex(catalog, []).rank, SelectionLimits(cap=None, max_entries=2))
    assert len(selection.entries) == 5 and selection.ranking is None and selection.record.dropped == ()


def test_sufficient_compaction_drops_no_entry():
    catalog = catalog_of([100] * 5)
    selection = select(prepare(catalog), FixedIndex(catalog, []).rank, SelectionLimits(cap=300, max_entries=2))
    assert len(selection.entries) == 5 and selection.record.dropped == ("first",)
    assert not selection.depends_on_request


def test_best_entries_keep_the_richest_form_that_fits():
    catalog = catalog_of([300] * 20)
    selection = select(
        prepare(catalog), FixedIndex(catalog, ["p7", "p2", "p5"]).rank, SelectionLimits(cap=450, max_entries=3)
    )
    lengths = {entry["name"]: len(entry["description"]) for entry in json.loads(selection.text)["packs"]}
    assert lengths["p7"] == 303 and lengths["p2"] == lengths["p5"] == 1
    assert ids(selection) == ["p2", "p5", "p7"], "catalog order is kept"
    assert selection.record.dropped[:2] == ("first", "lexical.top_n")


def test_entries_whose_size_is_exactly_the_cap_are_kept():
    catalog = catalog_of([300] * 6)
    lean = '{"packs":[{"name":"p1","description":"1"},{"name":"p4","description":"4"}],"pipelines":[]}'
    index = FixedIndex(catalog, ["p4", "p1"])
    exact, below = (
        select(prepare(catalog), index.rank, SelectionLimits(cap=cap, max_entries=2))
        for cap in (len(lean), len(lean) - 1)
    )
    assert exact.text == lean
    assert ids(below) == ["p4"]


def test_record_counts_left_out_entries_and_the_final_size():
    catalog = catalog_of([300] * 10)
    record = select(prepare(catalog), FixedIndex(catalog, []).rank, SelectionLimits(cap=250, max_entries=4)).record
    assert (record.kept_entries, record.left_out) == (4, 6)
    assert record.before_bytes == len(catalog.encode()) and record.after_bytes <= 250
    assert record.steps[-1] == TrimSize("lexical.top_n", record.after_bytes, 4)


def test_met_cap_leaves_no_over_budget_marker():
    catalog = catalog_of([300] * 10)
    record = select(prepare(catalog), FixedIndex(catalog, []).rank, SelectionLimits(cap=150, max_entries=4)).record
    assert not any(label.startswith("still_over_budget") for label in record.dropped)


def test_an_entry_larger_than_the_cap_is_left_out_with_a_label():
    rows = [{"name": "huge", "description": "y" * 900}, {"name": "small", "description": "z"}]
    catalog = Catalog.from_data({"packs": rows}, "test")
    selection = select(
        prepare(catalog), FixedIndex(catalog, ["huge", "small"]).rank, SelectionLimits(cap=100, max_entries=12)
    )
    assert ids(selection) == ["small"] and "entry.too_large(huge)" in selection.record.dropped


def test_unmatched_entries_do_not_displace_matched_ones():
    catalog = catalog_of([300] * 40)
    index = FixedIndex(catalog, ["p3", "p4"], zeros={f"p{n}" for n in range(40)} - {"p3", "p4"})
    selection = select(prepare(catalog), index.rank, SelectionLimits(cap=720, max_entries=12))
    assert ids(selection) == ["p3", "p4"]
    assert all(len(entry["description"]) == 303 for entry in json.loads(selection.text)["packs"])


def test_entries_are_shown_even_when_nothing_matches():
    catalog = catalog_of([300] * 10)
    index = FixedIndex(catalog, [], zeros={f"p{n}" for n in range(10)})
    assert len(select(prepare(catalog), index.rank, SelectionLimits(cap=200, max_entries=3)).entries) == 3


def test_every_clause_keeps_its_candidate():
    catalog = catalog_of([300] * 10)
    index = FixedIndex(catalog, [f"p{n}" for n in range(10)], clause_best=["p0", "p9"])
    assert "p9" in ids(select(prepare(catalog), index.rank, SelectionLimits(cap=300, max_entries=3)))


def ranking(*values):
    return Ranking(tuple(Score(n, str(n), value) for n, value in enumerate(values)))


@each_case(
    ("values", "confident"),
    [
        ((), True),
        ((0.0,), True),
        ((5.0,), True),
        ((0.0, 0.0, 0.0), False),
        ((3.0, 0.0), True),
        ((10.0, 6.0, 1.0), True),
        ((10.0, 6.1), False),
    ],
)
def test_confidence_is_the_gap_between_best_and_second(values, confident):
    assert ranking(*values).is_confident(0.4) is confident


def test_fewer_than_three_entries_never_escalate():
    assert not should_escalate(ranking(1.0, 1.0))
    assert not should_escalate(ranking(0.0, 0.0))
    assert should_escalate(ranking(1.0, 1.0, 1.0))
    assert not should_escalate(ranking(9.0, 1.0, 1.0))


@settings(deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(1, 3_000), st.integers(0, 12))
def test_selection_keeps_every_feasible_cap(sizes, cap, most):
    catalog = catalog_of(sizes)
    selection = select(prepare(catalog), FixedIndex(catalog, []).rank, SelectionLimits(cap=cap, max_entries=most))
    size = len(selection.text.encode())
    assert selection.record.after_bytes == size
    assert size <= max(cap, 27), "27 bytes are an empty catalog"
    assert [p["name"] for p in json.loads(selection.text)["packs"]] == ids(selection)


STEPS = {
    "first": lambda entry, data: {**data, "description": data.get("description", "").partition(". ")[0]},
    "empty": lambda entry, data: {},
    "grow": lambda entry, data: {**data, "more": "y" * 200},
    "rename": lambda entry, data: {**data, "name": "other", "id": "other"},
    "orphan": lambda entry, data: {**data, "metadata": {"supersedes": ["unknown"]}},
    "strip": lambda entry, data: {key: value for key, value in data.items() if key != "metadata"},
}


def both_lists(sizes):
    packs = [{"name": f"p{n}", "description": "é. " + "x" * size} for n, size in enumerate(sizes)]
    pipelines = [
        {"id": f"l{n}", "name": f"N{n}", "description": "z" * size, "metadata": {"supersedes": [f"p{n}"]}}
        for n, size in enumerate(sizes[::2])
    ]
    return Catalog.from_data({"packs": packs, "pipelines": pipelines}, "test")


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=10),
    steps=st.permutations(sorted(STEPS)).flatmap(lambda names: st.integers(0, 6).map(lambda n: names[:n])),
    cap=st.integers(27, 2_500),
    most=st.integers(0, 12),
    bare=st.integers(0, 12),
)
def test_any_trim_steps_keep_the_cap_and_the_dispatch_graph(sizes, steps, cap, most, bare):
    catalog = both_lists(sizes)
    expected = [entry.id for entry in catalog.entries][::-1]
    limits = SelectionLimits(cap=cap, max_entries=most, bare_names=bare)

    def chosen():
        prepared = PreparedCatalog(
            catalog, [Contribution("t", TrimStep(name=name, trim=STEPS[name])) for name in steps]
        )
        return select(prepared, FixedIndex(catalog, expected).rank, limits)

    selection = chosen()
    again = chosen()
    assert (selection.text, selection.record) == (again.text, again.record), "same input, same bytes"
    if not selection.depends_on_request:
        return
    assert selection.record.after_bytes == len(selection.text.encode()) <= cap
    sent = json.loads(selection.text)
    rows = {row["name"]: row for row in sent["packs"]} | {row["id"]: row for row in sent["pipelines"]}
    assert rows.keys() == set(ids(selection))
    for entry in selection.entries:
        assert rows[entry.id]["name"] == entry.data["name"]
        assert rows[entry.id].get("metadata", {}).get("supersedes", []) == list(entry.supersedes)


def test_bare_names_get_room_before_trimmed_fields_are_restored():
    catalog = catalog_of([100] * 12)
    limits = SelectionLimits(cap=300, max_entries=2, bare_names=4)
    selection = select(prepare(catalog), FixedIndex(catalog, ["p9", "p5"]).rank, limits)
    packs = json.loads(selection.text)["packs"]
    assert [row["name"] for row in packs] == ["p5", "p9", "p0", "p1", "p10", "p11"]
    assert [row.keys() == {"name"} for row in packs] == [False, False, True, True, True, True]
    assert "lexical.bare_names(4)" in selection.record.dropped
    assert (selection.record.kept_entries, selection.record.left_out) == (6, 6)


# -- through a deck ----------------------------------------------------------------------------------------

ASK = "remember this, draft a blog post about it, and make an illustration"


@pytest.mark.parametrize(("model", "most", "cap"), [("x/unknown", 12, 10_000), ("openrouter/mistralai/x", 25, 22_000)])
def test_tiers_keep_their_max_entries_and_cap(model, most, cap):
    selection = make_deck(config={"compaction": {"drop": TRIM_ALL}}).select(ASK, model=model)
    assert len(selection.entries) <= most and selection.record.after_bytes <= cap


TRIM_ALL = ["pipeline.steps[].body", "pipeline.inputs/outputs.schema", "description.firstSentence"]


def test_a_selected_pipeline_keeps_its_supersedes(deck_with):
    selection = deck_with().select("research a topic and write a grounded blog post with sources", model="x/unknown")
    catalog = {p["id"]: p for p in json.loads(selection.text)["pipelines"]}
    assert catalog, "the request is about pipelines"
    for entry in selection.entries:
        if entry.supersedes:
            assert catalog[entry.id]["metadata"]["supersedes"] == list(entry.supersedes)


def test_ranking_uses_the_untrimmed_metadata(deck_with, tmp_path):
    packs = [{"name": f"p{n:02}", "description": "Does a thing. " + "x" * 900} for n in range(30)]
    packs[17]["metadata"] = {"intent_keywords": ["knit a scarf"]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"packs": packs}))
    config = {"catalog": {"sources": [str(path)]}, "compaction": {"drop": ["description.firstSentence"]}}
    selection = deck_with(config=config).select("please knit a scarf", model="x/unknown")
    assert "p17" in [entry.id for entry in selection.entries] and selection.ranking.scores[0].id == "p17"


def test_bare_names_are_off_by_default(deck_with):
    def counts(config):
        packs = json.loads(deck_with(config=config).select(ASK, model="x/unknown").text)["packs"]
        return sum("description" in row for row in packs), sum(row.keys() == {"name"} for row in packs)

    assert counts({})[1] == 0
    described, named = counts({"selection": {"tiers": {"C": {"bare_names": 30}}}})
    assert described <= 12 and named >= 15


def test_large_catalog_is_prepared_in_a_worker_thread(answering, tmp_path):
    built_in = []

    class Noting:
        @hookimpl
        def helmdeck_rankers(self):
            def index(catalog):
                built_in.append(threading.current_thread())
                return FixedIndex(catalog, [])

            return [Ranker(name="noting", index=index)]

    path = tmp_path / "c.json"
    path.write_text(json.dumps({"packs": [{"name": f"p{n}", "description": "x" * 60} for n in range(600)]}))
    config = {"catalog": {"sources": [str(path)]}, "selection": {"ranker": "noting"}}
    plan = '{"steps":[{"order":1,"tool":"p1","args":{},"rationale":"r"}],"complexity":"single-action","reasoning":"x"}'
    deck, _ = answering(plan, plan, beside=(Noting(),), config=config)

    async def two():
        await asyncio.gather(*(deck.aplan("anything", model="openrouter/openrouter/free") for _ in range(2)))

    asyncio.run(two())
    assert len(built_in) == 1 and built_in[0] is not threading.main_thread()


def test_maxima_are_configurable(deck_with):
    selection = deck_with(config={"selection": {"max_entries": {"C": 3}}}).select(ASK, model="x/unknown")
    assert len(selection.entries) <= 3


def test_a_small_catalog_fits_a_small_cap_and_a_cap_below_any_entry_leaves_nothing(deck_with, tmp_path):
    path = tmp_path / "c.json"
    path.write_text('{"packs": [{"name": "tea.boil", "description": "Boils water."}]}')
    for cap, kept in ((200, 1), (20, 0)):
        config = {"catalog": {"sources": [str(path)]}, "budgets": {"x/": {"max_catalog_bytes": cap}}}
        selection = deck_with(config=config).select("boil water", model="x/y")
        assert len(selection.entries) == kept
        assert ("still_over_budget(27>20)" in selection.record.dropped) is (cap == 20)


@pytest.mark.filterwarnings("ignore::helmdeck_selection.CatalogWarning")
def test_an_empty_catalog_gives_empty_lists_and_no_labels(deck_with, tmp_path):
    (tmp_path / "c.json").write_text('{"packs": [], "pipelines": []}')
    deck = deck_with(config={"catalog": {"sources": [str(tmp_path / "c.json")]}})
    selection = deck.select(ASK, model="x/unknown")
    assert selection.text == '{"packs":[],"pipelines":[]}' and selection.record.dropped == ()


def test_tier_a_catalog_fits_a_small_window(deck_with):
    deck = deck_with(config={"budgets": {"openai/gpt-4o": {"input_tokens": 4_000}}})
    selection = deck.select(ASK, model="openai/gpt-4o")
    assert selection.record.after_bytes <= 4_000 * 3 < selection.record.before_bytes
    assert "blog.draft" in [entry.id for entry in selection.entries]
