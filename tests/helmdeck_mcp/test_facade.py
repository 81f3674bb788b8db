"""The facade of the MCP server: search, describe and call, and the names and schemas of tools."""

import pytest

from helmdeck_core import Catalog, CatalogSource, Pack
from helmdeck_mcp.server.entries import Tools, wire_name
from helmdeck_mcp.server.tools import result_schema
from helmdeck_testing import make_deck, plugin_with
from tests.helmdeck_mcp.mcp_support import ERAS, Probe, on_client

LIST = {
    "tools": [
        {
            "name": "notes.read",
            "description": "Read one note. Returns its text.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "notes.delete",
            "description": "Delete one note for ever.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ]
}


def deck_of_tools(tools):
    from helmdeck_selection import read_catalog

    source = CatalogSource(name="tools", load=lambda: read_catalog({"tools": tools}, "tools"))
    return make_deck(plugin_with(helmdeck_catalog_sources=[source]), config={"catalog": {"sources": ["tools"]}})


def facade_deck():
    from helmdeck_selection import read_catalog

    source = CatalogSource(name="notes", load=lambda: read_catalog(LIST, "notes"))
    packs = plugin_with(helmdeck_packs=Probe().packs(), helmdeck_catalog_sources=[source])
    return make_deck(packs, config={"catalog": {"sources": ["packs", "notes"]}})


@ERAS
def test_facade_shows_four_tools_and_runs_the_others(era):
    async def use(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("helmdeck__search", {"query": "double a number", "limit": 2})
        called = await client.call_tool("helmdeck__call", {"name": "probe__double", "arguments": {"n": 4}})
        hidden = await client.call_tool("probe__double", {"n": 5})
        by_id = await client.call_tool("probe.double", {"n": 6})
        return names, found, called, hidden, by_id

    names, found, called, hidden, by_id = on_client(use, facade_deck(), era=era, is_facade=True)
    assert names == ["helmdeck__search", "helmdeck__describe", "helmdeck__call", "helmdeck__plan"]
    first = found.structured_content["tools"][0]
    assert first == {
        "name": "probe__double",
        "description": "Double a number.",
        "required": ["n"],
        "types": {"n": "integer"},
        "read_only": True,
        "destructive": False,
    }
    assert [each.structured_content for each in (called, hidden, by_id)] == [{"n": 8}, {"n": 10}, {"n": 12}]


def test_facade_passes_annotations_through_and_describes_schemas():
    async def use(client):
        search = await client.call_tool("helmdeck__search", {"query": "delete a note for ever"})
        names = ["notes.delete", "probe__double"]
        return search, await client.call_tool("helmdeck__describe", {"names": names})

    search, described = on_client(use, facade_deck(), is_facade=True)
    first = search.structured_content["tools"][0]
    assert (first["name"], first["destructive"], first["read_only"]) == ("notes__delete", True, False)
    assert first["runnable"] is False
    note, double = described.structured_content["tools"]
    assert note["inputSchema"]["required"] == ["id"]
    assert double["annotations"] == {"readOnlyHint": True, "destructiveHint": False} and "outputSchema" in double


def test_facade_reports_unknown_names_its_own_call_and_entries_that_cannot_run():
    async def use(client):
        calls = [
            ("helmdeck__call", {"name": "probe__duoble"}),
            ("helmdeck__call", {"name": "helmdeck__call"}),
            ("helmdeck__call", {"name": "notes__read", "arguments": {"id": "1"}}),
            ("helmdeck__describe", {"names": ["notes__raed"]}),
            ("helmdeck__call", {"name": "helmdeck__explain", "arguments": {}}),
            ("helmdeck__call", {"name": "helmdeck__search", "arguments": {"query": "notes"}}),
        ]
        return [(await client.call_tool(name, arguments)).structured_content["error"] for name, arguments in calls]

    misspelt, recursive, entry, described, own, direct = on_client(use, facade_deck(), is_facade=True)
    assert "did you mean 'probe__double'?" in misspelt["message"]
    assert "cannot call itself" in recursive["detail"]
    assert (entry["cause"], entry["pack"]) == ("invalid_input", "notes.read")
    assert described["likely"] == ["notes__read"] or "notes__read" in described["likely"]
    assert "intent" in own["detail"]
    assert direct["detail"] == "helmdeck__search is called directly, not through helmdeck__call"


def test_facade_suggests_only_names_that_its_client_can_see():
    async def use(client):
        return [
            (await client.call_tool(name, {})).structured_content["error"]
            for name in ("helmdeck_search", "helmdeck_run")
        ]

    search, run = on_client(use, facade_deck(), is_facade=True)
    assert "did you mean 'helmdeck__search'?" in search["message"]
    assert "helmdeck__run" not in run["message"] and "helmdeck__search" in run["next_action"]


def test_search_shows_choices_and_types_of_required_arguments_that_are_not_strings():
    inputs = {
        "name": {"type": "string"},
        "command": {"type": "string", "enum": ["pause", "resume"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "count": {"type": "integer"},
        "any": True,
        "many": {"type": "string", "enum": ["x" * 200]},
        "dry_run": {"type": "boolean"},
    }
    required = [name for name in inputs if name != "dry_run"]
    tool = {
        "name": "rollout",
        "description": "Manage a rollout.",
        "inputSchema": {"properties": inputs, "required": required},
    }
    tool["inputSchema"]["type"] = "object"

    async def use(client):
        return (await client.call_tool("helmdeck__search", {"query": "rollout"})).structured_content

    found = on_client(use, deck_of_tools([tool]), is_facade=True)["tools"][0]
    assert found["required"] == required
    assert found["types"] == {"command": "pause | resume", "tags": "array of string", "count": "integer"}


def test_search_without_a_match_reports_it():
    async def use(client):
        return (await client.call_tool("helmdeck__search", {"query": "zzzz qqqq"})).structured_content

    found = on_client(use, facade_deck(), is_facade=True)
    assert found["tools"] == [] and "no tool matches" in found["hint"] and found["total"] >= 7


# -- names and schemas -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry_id", "name"),
    [("web.search", "web__search"), ("a/b c", "a_b_c"), ("already_fine-1", "already_fine-1")],
)
def test_names_on_the_wire_have_only_characters_that_model_apis_accept(entry_id, name):
    assert wire_name(entry_id) == name


def test_long_names_stay_different_and_within_the_limit():
    one, other = wire_name("x" * 90 + "1"), wire_name("x" * 90 + "2")
    assert len(one) == len(other) == 64 and one != other


def test_ids_with_the_same_name_on_the_wire_can_both_be_called():
    async def run(context, value):
        return {}

    packs = [Pack(name=name, version="1", description="d.", run=run) for name in ("a.b", "a__b")]
    deck = make_deck(plugin_with(helmdeck_packs=packs), config={"catalog": {"sources": ["packs"]}})
    tools = Tools(deck).current()
    dotted, other = tools.get("a.b"), tools.get("a__b")
    assert (other.name, dotted.name[:5]) == ("a__b", "a__b_") and tools.get(dotted.name) is dotted


def test_tools_follow_a_catalog_that_is_replaced():
    class Deck:
        runtime = make_deck().runtime
        catalog = Catalog()

    deck = Deck()
    tools = Tools(deck)
    before = tools.current()
    assert tools.current() is before
    deck.catalog = Catalog()
    assert tools.current() is not before


def test_output_schema_that_cannot_be_combined_with_a_failure_is_left_out():
    assert result_schema({"type": "object", "oneOf": [{"required": ["a"]}]}) is None
    assert result_schema({"type": "object", "additionalProperties": False})["properties"].keys() == {"error"}
