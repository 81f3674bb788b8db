"""``helmdeck catalog check``, and warnings about catalogs that are loaded."""

import json
import warnings
from pathlib import Path

import pytest

from helmdeck_core.cli import ExitCode
from helmdeck_selection import CatalogWarning, load_catalog_file
from tests.cli_support import Cli, leave_the_machine

BAD = """{"packs": [
  {"name": "a b",
   "descripton": "x"},
  {"name": "ok.one", "description": "does", "input_schema": {
     "type": "object",
     "proprties": {},
     "properties": {"x": {"type": "strng"}, "type": {"type": "string", "default": {"type": "colour"}}},
     "required": ["y"]
  }},
  {"name": "ok.one", "description": "d", "metadata": {"intent_keyword": []}},
  {"description": "d", "description": "e", "vendor_note": 1},
  {"name": "LONG", "description": "d", "inputSchema": {"type": "string"}},
  {"name": "TOO_LONG", "description": "d", "inputSchema": []}
 ],
 "pipeline": []
}
""".replace("TOO_LONG", "n" * 200).replace("LONG", "n" * 70)
WANTED = {
    (2, "error", "the name 'a b' contains whitespace"),
    (2, "warning", "'a b' has no description"),
    (3, "error", "unknown key 'descripton' (did you mean 'description'?)"),
    (6, "warning", "unknown keyword 'proprties' (did you mean 'properties'?)"),
    (7, "error", "'strng' is not a type (did you mean 'string'?)"),
    (8, "warning", "'y' is required and not among the properties"),
    (10, "error", "already used by $.packs[1]"),
    (10, "warning", "unknown key 'intent_keyword' (did you mean 'intent_keywords'?)"),
    (11, "error", "the key 'description' occurs twice in one object"),
    (11, "error", "missing or not a string"),
    (11, "warning", "unknown key 'vendor_note'; it is part of the catalog that models read"),
    (12, "error", "the arguments of a tool are an object"),
    (12, "warning", "the name has 70 characters"),
    (13, "error", "a JSON Schema is an object"),
    (13, "error", "the name has 200 characters"),
    (15, "error", "unknown key 'pipeline' (did you mean 'pipelines'?)"),
}
TOOL = {
    "name": "get_x",
    "description": "Gets x.",
    "parameters": {"type": "object", "properties": {"x": {"type": "int"}}},
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


def write(name, content):
    Path(name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return name


def test_all_findings_are_reported_at_once_with_their_lines(cli):
    done = cli("catalog", "check", write("bad.json", BAD), "--json")
    assert (done.code, done.data["ok"], done.data["entries"]) == (ExitCode.USAGE, False, 6)
    found = done.data["findings"]
    missing = [w for w in WANTED if not any((f["line"], f["level"]) == w[:2] and w[2] in f["problem"] for f in found)]
    assert (missing, len(found)) == ([], len(WANTED))
    lines = cli("catalog", "check", "bad.json").out.splitlines()
    assert lines[0].startswith("bad.json:2: error: $.packs[0].name: ") and len(lines) == len(WANTED) + 1
    assert lines[-1] == "not valid: bad.json; 6 entries, 10 errors, 6 warnings"


@pytest.mark.parametrize(
    ("catalog", "where"),
    [
        ([{"type": "function", "function": TOOL}], "$[0].function.parameters.properties.x.type"),
        ([{"type": "function", "function": {"name": "", "description": "d"}}], "$[0].function.name"),
        ([{"type": "function", **TOOL}], "$[0].parameters.properties.x.type"),
        ({"tools": [{**TOOL, "parameters": {}, "inputSchema": {"type": "objct"}}]}, "$.tools[0].inputSchema.type"),
        ({"result": {"tools": [{"name": "a", "description": " "}]}}, "$.result.tools[0]"),
        ({"pipelines": [{"id": "x y", "description": "d"}]}, "$.pipelines[0].id"),
    ],
)
def test_every_format_of_catalogs_is_checked(cli, catalog, where):
    write("c.json", catalog)
    (found,) = cli("catalog", "check", "c.json", "--json").data["findings"]
    assert found["where"] == where
    key = where.rpartition(".")[2]
    assert key.endswith("]") or f'"{key}"' in Path("c.json").read_text().splitlines()[found["line"] - 1]


@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        ("c.json", b"", 1, "the file is empty"),
        ("c.json", b"[]", 1, "the catalog has no entries"),
        ("c.json", b'{"packs": []}', 1, "the catalog has no entries"),
        ("c.json", b"\x89PNG\r\n\x1a\n\0\0", 1, "not encoded in UTF-8"),
        ("c.json", b"PK\0\0", 1, "a binary file"),
        ("c.json", b'{"packs": [\n  {"name": "a",}\n]}', 2, "not valid JSON"),
        ("c.json", b"[" * 100_000, 1, "nested too deeply"),
        ("c.json", b'{"packs": [], "x": NaN}', 1, "NaN is not a JSON value"),
        ("c.json", b'{"pack": []}', 1, "unknown key 'pack' (did you mean 'packs'?)"),
        ("c.json", b"3", 1, 'a catalog is an object, found a number; allowed: {"packs": [...], "pipelines": [...]}'),
        ("c.toml", b'[[packs]]\nname = = "a"\n', 2, "not valid TOML"),
        ("c.toml", b'[[packs]]\nname = "a"\ndescription = "d"\n[[packs]]\nname = "b c"\n', 5, "contains whitespace"),
        (
            "c.toml",
            b'[[packs]]\nname = "a"\ndescription = """\nname = 1\n"""\n[packs.input_schema.properties.x]\ntype = "strng"\n',
            7,
            "is not a type",
        ),
    ],
)
def test_unusable_and_toml_files_are_reported_with_a_line(cli, name, content, line, problem):
    Path(name).write_bytes(content)
    done = cli("catalog", "check", name, "--json")
    assert done.code == ExitCode.USAGE
    assert [f["line"] for f in done.data["findings"] if problem in f["problem"]] == [line]


def test_escape_of_half_a_character_is_an_error_with_its_line_as_it_is_when_the_catalog_is_loaded(cli, tmp_path):
    path = tmp_path / "half.json"
    path.write_text(
        '{"tools": [\n{"name": "a", "description": "x \\ud800",\n"inputSchema": {"type": "object", "properties": {\n'
        '"k\\udc01": {"type": "string", "description": "\\ud83d\\ude00"}}}}]}'
    )
    done = cli("catalog", "check", str(path), "--json")
    assert done.code == ExitCode.USAGE
    assert [(each["line"], each["problem"].partition(",")[0]) for each in done.data["findings"]] == [
        (2, r"character 3 is the surrogate '\ud800'"),
        (4, r"character 2 is the surrogate '\udc01'"),
    ]
    assert cli("catalog", "show", "--catalog", str(path)).code != 0


def test_valid_catalog_and_warnings_alone_are_a_success(cli):
    catalog = {"packs": [{"name": "a.b", "description": "d", "input_schema": {"type": "object"}}]}
    done = cli("catalog", "check", write("c.json", catalog))
    assert done == (0, "ok: c.json; 1 entry, 0 errors, 0 warnings\n", "")
    done = cli("catalog", "check", write("c.json", {"packs": [{"name": "a.b"}]}))
    assert done.code == 0 and "1 warning" in done.out
    assert cli("catalog", "check", "none.json").code == ExitCode.USAGE


def test_example_catalog_has_no_findings(cli):
    Path("example.json").write_text(cli("catalog", "show", "--json").out, encoding="utf-8")
    assert "0 errors, 0 warnings" in cli("catalog", "check", "example.json").out


# -- loading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("catalog", "doubt"),
    [
        ([], "the catalog has no entries"),
        ({"packs": [{"name": "a b"}]}, "the name 'a b' contains whitespace"),
        ({"packs": [{"name": "a", "descripton": "x"}]}, "unknown key 'descripton' (did you mean 'description'?)"),
        ([{"name": "a", "parameters": {"properties": {"x": {"anyOf": [{"type": "strng"}]}}}}], "unknown type 'strng'"),
    ],
)
def test_catalog_that_is_certainly_wrong_is_a_warning_that_names_the_check(cli, catalog, doubt):
    write("c.json", catalog)
    with pytest.warns(CatalogWarning, match="helmdeck catalog check c.json") as caught:
        load_catalog_file(Path("c.json"))
    assert doubt in str(caught[0].message)
    done = cli("catalog", "show", "--catalog", "c.json")
    assert done.code == 0
    assert done.err == f"helmdeck: warning: {caught[0].message}\n"


def test_catalogs_of_servers_are_loaded_without_a_warning(tmp_path):
    tool = {
        "name": "get", "description": "d", "_meta": {}, "annotations": {"readOnlyHint": True}, "outputs": [],
        "inputSchema": {"properties": {"type": {"type": "string", "default": {"type": "colour"}}}},
    }  # fmt: skip
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [tool]}), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load_catalog_file(path)) == 1


def test_error_of_a_catalog_file_names_the_check(cli):
    done = cli("plan", "x", "--catalog", write("c.json", '{"packs": [3]}'))
    assert done.code == ExitCode.USAGE
    assert done.err.endswith("`helmdeck catalog check c.json` shows the lines\n")
    assert "catalog check" not in cli("plan", "x", "--catalog", "gone.json").err
    assert "$: the file is empty" in cli("plan", "x", "--catalog", write("empty.json", "\n")).err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"PK\x03\x04\0\0", "a binary file; convert it to text first"),
        (
            "Zeile\nGrüße".encode("latin-1"),
            "the byte 0xfc in line 2 is not UTF-8; convert the text first, such as with",
        ),
    ],
)
def test_document_that_is_not_text_is_an_error(cli, content, problem):
    Path("doc.txt").write_bytes(content)
    for words in (("plan", "remember this"), ("ask", "--model", "local/lexical", "summarize this")):
        done = cli(*words, "--document", "doc.txt")
        assert (done.code, done.out) == (ExitCode.USAGE, "")
        assert done.err.startswith(f"helmdeck: doc.txt: {problem}")


def test_documents_in_utf16_and_with_a_byte_order_mark_are_read(cli):
    Path("a.txt").write_text("remember the tides", encoding="utf-16")
    Path("b.txt").write_text("Grüße", encoding="utf-8-sig")
    done = cli("explain", "x", "--document", "a.txt", "--document", "b.txt", "--prompt")
    assert "remember the tides\n\nGrüße" in done.out
