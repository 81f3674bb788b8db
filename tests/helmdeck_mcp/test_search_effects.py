"""Search results of the facade are ordered by effect."""

import pytest

from helmdeck_core import Catalog, Entry, EntryKind, Score
from helmdeck_mcp.server.search_effects import Effect, by_effect, effect_of_request, effect_of_tool
from helmdeck_mcp.server.search_fit import by_family, by_numbers, family_of
from tests.case_support import each_case


def entry(entry_id, **annotations):
    return Entry(
        EntryKind.PACK, entry_id, {"name": entry_id, "annotations": annotations} if annotations else {"name": entry_id}
    )


@each_case(
    ("request_text", "effect"),
    [
        ("show the open invoices", Effect.READ),
        ("What's new in the repository?", Effect.READ),
        ("whats new in the repository", Effect.READ),
        ("please, can you tell me who is on call", Effect.READ),
        ("tell Ada that the release is out", Effect.WRITE),
        ("I want to  remember this", Effect.WRITE),
        ("open an issue", Effect.WRITE),
        ("open the file", Effect.READ),
        ("get rid of the old branches", Effect.DELETE),
        ("forget Bob", Effect.DELETE),
        ("Grüße an alle", None),
        ("", None),
        ("42", None),
    ],
)
def test_effect_of_a_request_is_that_of_its_first_words(request_text, effect):
    assert effect_of_request(request_text) is effect


@each_case(
    ("tool", "effect"),
    [
        (entry("notes.add", readOnlyHint=True), Effect.READ),
        (entry("github__list_issues"), Effect.READ),
        (entry("deleteNote"), Effect.DELETE),
        (entry("slack__slack_get_users"), Effect.READ),
        (entry("git.git_reset"), Effect.DELETE),
        (entry("notes.add"), Effect.WRITE),
        (entry("API-post-search"), Effect.READ),
        (entry("arxiv__download_paper"), Effect.READ),
        (entry("acme_web_search"), Effect.READ),
        (entry("maps__maps_directions"), None),
        (entry("7"), None),
    ],
)
def test_effect_of_a_tool_is_annotated_or_the_verb_of_its_name(tool, effect):
    assert effect_of_tool(tool) is effect


def ordered(request):
    catalog = Catalog(
        [entry("graph.read_all"), entry("graph.create_node"), entry("graph.delete_node"), entry("mail.send")]
    )
    scores = [Score(0, "graph.read_all", 10.0), Score(1, "graph.create_node", 9.5), Score(2, "graph.delete_node", 9.0)]
    return [score.id for score in by_effect([*scores, Score(3, "mail.send", 1.0)], catalog, request)]


def test_entries_of_similar_scores_are_ordered_by_effect_and_others_stay_behind():
    assert ordered("remember Ada")[0] == "graph.create_node"
    assert ordered("forget Ada")[0] == "graph.delete_node"
    assert ordered("show Ada")[0] == "graph.read_all"
    assert ordered("Ada") == ["graph.read_all", "graph.create_node", "graph.delete_node", "mail.send"]
    assert ordered("remember Ada")[-1] == "mail.send"


def test_tool_of_unknown_effect_is_between_those_that_fit_and_those_that_do_not():
    catalog = Catalog([entry("a.update_route"), entry("a.directions"), entry("a.get_route")])
    scores = [Score(place, each.id, 1.0) for place, each in enumerate(catalog.entries)]
    found = [score.id for score in by_effect(scores, catalog, "how do I get to Salzburg")]
    assert found == ["a.get_route", "a.directions", "a.update_route"]


# -- families and numbers --------------------------------------------------------------------------------------


def test_tools_of_the_family_that_matches_best_are_raised():
    scores = [
        Score(0, "mail__list_pages", 5.0),
        Score(1, "web__click", 4.5),
        Score(2, "web__type", 4.0),
        Score(3, "web__close", 4.0),
    ]
    assert [score.id for score in by_family(scores)] == ["web__click", "web__type", "web__close", "mail__list_pages"]
    assert [family_of(name) for name in ("git__status", "git.git_add", "a/b", "plain")] == ["git", "git", "a", "plain"]
    assert list(by_family([])) == []


def test_entry_that_requires_as_many_numbers_as_the_request_has_is_raised():
    def tool(name, *types, required=None):
        properties = {f"p{place}": {"type": each} for place, each in enumerate(types)}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties) if required is None else required,
        }
        return Entry(EntryKind.PACK, name, {"name": name, "input_schema": schema})

    entries = [
        tool("a.text", "string"),
        tool("a.sum", "number", "integer"),
        tool("a.odd", required="p0"),
        Entry(EntryKind.PACK, "a.any", {}),
    ]
    catalog = Catalog(entries)

    def values(request):
        scores = [Score(place, each.id, 1.0) for place, each in enumerate(entries)]
        return [score.score for score in by_numbers(scores, catalog, request)]

    assert values("add 12 and 3.5") == pytest.approx([1.0, 1.96, 1.0, 1.0])
    assert values("add 12") == [1.0, 0.9, 1.0, 1.0]
    assert values("add 1, 2 and 3 to v1.2 in src/3") == [1.0, 1.0, 1.0, 1.0]
