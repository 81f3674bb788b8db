"""The generator of the documentation: blocks are executed, isolated from the machine, and fail only as declared."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from tests.case_support import each_case

DOCS = Path(__file__).resolve().parents[2] / "docs"

# Imported as top-level modules, as in docs/generate.py.
sys.path += [str(DOCS)]
generate = importlib.import_module("generate")
consoles = importlib.import_module("consoles")

FAILING = '```console\n$ helmdeck plan "brew a pot of tea"\n$ helmdeck run no.pack\n$ echo $?\n```\n'


def test_stale_page_is_listed_and_updated(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n<!-- output -->\n```text\n2\n```\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "pages", lambda: [(page, consoles.render(page.read_text()))])
    assert generate.main([]) == 1
    assert capsys.readouterr().out == "not up to date: page.md\n"
    assert generate.main(["--write"]) == 0
    assert page.read_text().endswith("```text\n1\n```\n")
    assert generate.main([]) == 0


def test_a_page_with_an_undeclared_failure_is_named_and_not_written(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(FAILING)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "written_by_hand", lambda: [page])
    monkeypatch.setattr("reference_pages.REFERENCE", {})  # which takes seconds to render
    with pytest.raises(SystemExit, match=r"^page\.md: exit codes 23, 2"):
        generate.main(["--write"])
    assert page.read_text() == FAILING


def test_unsupported_command_must_be_marked():
    with pytest.raises(ValueError, match="cannot run 'pip install helmdeck'; mark the block"):
        consoles.render("```console\n$ pip install helmdeck\n```\n")
    marked = "<!-- not run: it installs -->\n```console\n$ pip install helmdeck\n```\n"
    assert consoles.render(marked) == marked


@pytest.mark.parametrize("declared", ["", "<!-- exits: 23 -->\n", "<!-- exits: 2, 23 -->\n"])
def test_a_failing_command_must_be_declared(declared):
    with pytest.raises(ValueError, match=r"exit codes 23, 2, but the page declares (.|\n)*no installed pack"):
        consoles.render(declared + FAILING)


def test_declared_exit_codes_are_those_of_the_failing_commands():
    assert consoles.render(f"<!-- exits: 23, 2 -->\n{FAILING}").endswith("$ echo $?\n2\n```\n")
    with pytest.raises(ValueError, match=r"exit codes 0, but the page declares <!-- exits: 2 -->"):
        consoles.render("<!-- exits: 2 -->\n```console\n$ helmdeck config check\n```\n")


def test_page_is_isolated_from_the_machine(monkeypatch, tmp_path):
    (tmp_path / "helmdeck.toml").write_text('model = "missing/model"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELMDECK_MODEL", "missing/model")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    shown = consoles.render("```console\n$ helmdeck config show\n$ helmdeck config check\n```\n")
    assert "missing" not in shown
    assert re.search(r"\nmodel +local/lexical +default\n", shown)


def test_omitted_lines_are_marked():
    page = '<!-- exits: 23 -->\n<!-- shown: 1, 3-4 -->\n```console\n$ helmdeck plan "brew a pot of tea"\n```\n'
    head, *lines = consoles.render(page).splitlines()[4:-1]
    assert (head, lines[0], lines[-1]) == ("local/lexical (full_steps): gap, single-action", "...", "...")
    assert len(lines) == 4


# -- numbers ---------------------------------------------------------------------------------------------------

_ITEM = re.compile(r"^( *)(\d+)\. ")


def misnumbered(text):
    """Return the items of numbered lists, in prose and in output, that do not count up."""
    found, last = [], {}
    for line in text.splitlines():
        if line.startswith(("#", "```", "$ ")):
            last = {}
        elif item := _ITEM.match(line):
            number, before = int(item[2]), last.get(item[1])
            found += [line] if before is not None and number <= before else []
            last[item[1]] = number
    return found


@each_case("path", [pytest.param(path, id=path.name) for path in generate.written_by_hand()])
def test_numbered_items_of_a_page_count_up(path):
    assert misnumbered("1. a\n1. b\n2. c") == ["1. b"]
    assert misnumbered(path.read_text(encoding="utf-8")) == []


def test_exported_variable_holds_for_all_later_commands_of_its_section():
    page = "```console\n$ export HELMDECK_MODEL=acme/large\n$ helmdeck config check\n```\n"
    with pytest.raises(ValueError, match="environment HELMDECK_MODEL: model: there is no provider 'acme'"):
        consoles.render(page)


@each_case("page", sorted(DOCS.glob("**/*.md")))
def test_page_that_installs_a_plugin_shows_how_it_is_installed(page):
    text = page.read_text(encoding="utf-8")
    assert "<!-- install: " not in text or "`pip install .`" in text
