"""Catalogs: the shape, its mistakes, the files and shapes that are read."""

import json

import pytest

from helmdeck_core import Catalog, CatalogError, CatalogSource, ConfigError, EntryKind, hookimpl
from helmdeck_selection import load_catalog_file, read_catalog
from helmdeck_testing import make_deck
from tests.case_support import each_case


def pack(name="a.b", **more):
    return {"name": name, "description": "Does it.", **more}


def test_packs_come_before_pipelines_and_keep_their_order():
    catalog = Catalog.from_data({"pipelines": [{"id": "p"}], "packs": [pack("z"), pack("a")]}, "x")
    assert [entry.id for entry in catalog.entries] == ["z", "a", "p"]
    assert [entry.kind for entry in catalog.entries] == [EntryKind.PACK, EntryKind.PACK, EntryKind.PIPELINE]


def test_an_empty_catalog_encodes_as_two_empty_lists():
    assert Catalog().encode() == b'{"packs":[],"pipelines":[]}'
    assert Catalog.from_data({"packs": None, "pipelines": []}, "x").entries == ()


def test_the_version_follows_the_content():
    one, two = (Catalog.from_data({"packs": [pack(description=text)]}, "x") for text in "ab")
    same = Catalog.from_data({"packs": [pack(description="a")]}, "elsewhere")
    assert one.version == same.version != two.version


def test_catalogs_of_equal_entries_are_equal_and_of_one_hash():
    one, same, two, elsewhere = (
        Catalog.from_data({"packs": [pack(description=text)]}, source) for text, source in ("ax", "ax", "bx", "ay")
    )
    assert one == same and hash(one) == hash(same)
    assert one not in (two, elsewhere, Catalog(), one.entries)


def test_the_later_catalog_replaces_an_id_where_it_stands():
    first = Catalog.from_data({"packs": [pack("a"), pack("b")]}, "one")
    second = Catalog.from_data({"packs": [pack("c"), pack("a", description="new")]}, "two")
    merged = first.merged(second)
    assert [(entry.id, entry.source) for entry in merged.entries] == [("a", "two"), ("b", "one"), ("c", "two")]


@each_case(
    ("data", "where", "words"),
    [
        (None, "$", "null"),
        ([1], "$[0]", "a number"),
        ("text", "$", "a string"),
        ({}, "$", "nothing"),
        ({"pack": []}, "$", "packs"),
        ({"packs": {}}, "$.packs", "not a list"),
        ({"packs": [7]}, "$.packs[0]", "not an object"),
        ({"packs": [{}]}, "$.packs[0].name", "missing"),
        ({"packs": [{"name": " "}]}, "$.packs[0].name", "a non-empty string"),
        ({"packs": [{"name": 3}]}, "$.packs[0].name", "3"),
        ({"pipelines": [{"name": "no id"}]}, "$.pipelines[0].id", "missing"),
        ({"packs": [pack(description=5)]}, "$.packs[0].description", "a number"),
        ({"packs": [pack(metadata=[])]}, "$.packs[0].metadata", "a list"),
        ({"pipelines": [{"id": "p", "metadata": {"supersedes": "x"}}]}, "$.pipelines[0].metadata.supersedes", "list"),
        ({"packs": [pack("a"), pack("a")]}, "$.packs[1].name", "already used by $.packs[0]"),
        ({"packs": [pack("a")], "pipelines": [{"id": "a"}]}, "$.pipelines[0].id", "already used"),
        ({"packs": [pack("unknown")]}, "$.packs[0].name", "unknown tools"),
        ({"pipelines": [{"id": " Unknown "}]}, "$.pipelines[0].id", "another name"),
        ([{"name": "a"}, {"name": "a"}], "$[1].name", "already used by $[0]"),
        ({"tools": [{"description": "nameless"}]}, "$.tools[0].name", "missing"),
        ({"result": {"tools": [{"name": ""}]}}, "$.result.tools[0].name", "missing"),
        ([{"type": "function", "function": {"name": 5}}], "$[0].function.name", "5"),
        ([{"type": "function", "function": {}}], "$[0].function.name", "missing"),
        ([{"function": {"name": "a"}, "description": 5}], "$[0].description", "a number"),
    ],
)
def test_a_wrong_shape_names_the_path_and_what_was_found(data, where, words):
    with pytest.raises(CatalogError) as caught:
        read_catalog(data, "mine.json")
    assert where in [mistake.where for mistake in caught.value.mistakes]
    assert words in str(caught.value) and "mine.json" in str(caught.value)


def test_all_mistakes_are_shown_at_once():
    with pytest.raises(CatalogError) as caught:
        read_catalog({"packs": [{}, pack("a"), pack("a"), 3], "pipelines": "no"}, "x")
    assert len(caught.value.mistakes) == 4
    assert "4 mistakes" in str(caught.value)


def test_a_list_of_function_tools_is_a_catalog():
    tool = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {}}}}
    for shape in ([{"type": "function", "function": tool}], [{"type": "function", **tool}], [tool]):
        (entry,) = read_catalog(shape, "x").entries
        assert (entry.id, entry.description) == ("add", "Adds.")
        assert entry.input_schema == tool["parameters"]


def test_what_a_server_lists_as_its_tools_is_a_catalog():
    tools = [{"name": "get", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]
    for shape in ({"tools": tools}, {"server": "s", "tools": tools}, {"jsonrpc": "2.0", "result": {"tools": tools}}):
        (entry,) = read_catalog(shape, "x").entries
        assert entry.input_schema == {"type": "object"}
        assert entry.data["annotations"] == {"readOnlyHint": True}


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    for name, text in (("c.json", '{"packs": [{"name": "a"}]}'), ("c.toml", '[[packs]]\nname = "a"\n')):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert [entry.id for entry in load_catalog_file(tmp_path / name).entries] == ["a"]


def test_json_and_toml_files_are_read(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"packs": [pack("a")]}))
    (tmp_path / "c.toml").write_text('[[packs]]\nname = "a"\ndescription = "Does it."\n')
    assert load_catalog_file(tmp_path / "c.json").encode() == load_catalog_file(tmp_path / "c.toml").encode()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.json", None, "cannot be read"),
        ("bad.json", b"{", "not valid JSON"),
        ("empty.json", b"", "the file is empty"),
        ("bad.toml", b"a = = 1", "not valid TOML"),
        ("binary.toml", b"\xff\xfe\x00", "not valid TOML"),
        ("deep.json", b"[" * 100_000, "not valid JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CatalogError, match=words) as caught:
        load_catalog_file(path)
    assert name in str(caught.value)


def test_the_example_catalog_is_real_and_of_the_size_that_breaks_weak_models():
    catalog = make_deck(config={"catalog": {"sources": ["example"]}}).catalog
    assert len(catalog.packs) >= 45 and len(catalog.pipelines) >= 18
    assert 33_000 <= len(catalog.encode()) <= 38_000
    names = {entry.id for entry in catalog.packs}
    for pipeline in catalog.pipelines:
        assert set(pipeline.supersedes) <= names
        assert {step["pack"] for step in pipeline.metadata["steps"]} <= names


def test_ten_thousand_entries_are_planned_over(deck_with, tmp_path):
    rows = [
        pack(f"area{n % 97}.verb{n}", description=f"Handles case number {n} of kind {n % 13}.") for n in range(10_000)
    ]
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"packs": rows}))
    deck = deck_with(config={"catalog": {"sources": [str(path)]}})
    selection = deck.select("please handle case number 4711", model="openrouter/openrouter/free")
    assert selection.record.after_bytes <= 10_000
    assert "area55.verb4711" in [entry.id for entry in selection.entries]


class FileReader:
    @hookimpl
    def helmdeck_catalog_sources(self):
        def read(path):
            return Catalog.from_data({"packs": [{"name": f"{path.stem}.read"}]}, "acme")

        return (CatalogSource(name="acme", read=read, order=-1),)


def test_plugin_replaces_the_reader_of_catalog_files():
    deck = make_deck(FileReader(), catalog_sources=["mine.toml"])
    assert [entry.id for entry in deck.catalog.entries] == ["mine.read"]


def test_reader_of_catalog_files_is_no_source_by_name():
    with pytest.raises(ConfigError, match="unknown catalog source"):
        make_deck(catalog_sources=["files"])


def test_catalog_file_that_no_plugin_reads_is_an_error():
    deck = make_deck(config={"plugins": {"disable": ["catalogs"]}, "catalog": {"sources": ["mine.json"]}})
    with pytest.raises(CatalogError, match="no plugin reads catalog files"):
        _ = deck.catalog
