"""The leaderboard of tool selection: any ranker, one command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from benchmarks.selection.adapters import adapter, tools
from benchmarks.selection.further import further_sets
from benchmarks.selection.leaderboard import SOURCES, BenchmarkSet, benchmark_sets, board, main

HERE = "tests.benchmarks.test_selection_leaderboard"


def make_search(catalog: list[dict[str, Any]]) -> Callable[[str], Sequence[str]]:
    """A ranker that returns the first tools of the catalog."""
    names = [tool["name"] for tool in catalog]
    return lambda _: names


@pytest.fixture(scope="module")
def few() -> BenchmarkSet:
    apps = further_sets()[-1]
    return BenchmarkSet(apps.name, apps.catalog, apps.requests[:3])


def test_function_of_another_project_is_scored_beside_the_built_in_rankers(few: BenchmarkSet):
    found = board(["lexical", f"{HERE}:make_search"], [few])
    rows = [line for line in found.splitlines() if line.startswith(("| `lexical`", f"| `{HERE}"))]
    assert len(rows) == 6
    assert "written for this project" in found


def test_tool_is_plain_data_with_the_names_of_its_parameters(few: BenchmarkSet):
    first = tools(few.catalog)[0]
    assert set(first) == {"name", "description", "parameters"}
    assert first["name"] == few.catalog.entries[0].id


@pytest.mark.parametrize("name", ["bm52", "no_such_module:f", f"{HERE}:nothing"])
def test_unknown_ranker_is_an_error(name: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ValueError, match=name.partition(":")[0]):
        adapter(name)
    with pytest.raises(SystemExit):
        main([name])
    assert name in capsys.readouterr().err


def test_every_set_has_a_source_and_a_licence(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    monkeypatch.setenv("MCP_TOOLS", str(tmp_path))
    sets = benchmark_sets(5)
    assert [each.name for each in sets] == ["servers", "apis", "chinese", "apps", "languages"]
    assert all(len(each.requests) == 5 and each.name in SOURCES for each in sets)
