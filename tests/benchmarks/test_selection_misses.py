"""The causes of missing tools in the benchmark of requests with several steps."""

from __future__ import annotations

from benchmarks.selection.misses import TOP, study
from helmdeck_core import Catalog


def catalog(*tools: tuple[str, str]) -> Catalog:
    packs = [{"name": name, "description": description} for name, description in tools]
    return Catalog.from_data({"packs": packs, "pipelines": []}, "test")


CROWD = [(f"page.tool{number}", "Works on a page of a site in winter") for number in range(TOP)]


def causes(request: str, tool: tuple[str, str], implied: frozenset[str] = frozenset()) -> list[tuple[str, int]]:
    found = study(catalog(*CROWD, tool), [(request, [tool[0]], implied)])
    return [(miss.cause, miss.place) for miss in found.misses]


def test_tool_among_the_first_is_no_miss() -> None:
    assert causes("prune the hedge", ("hedge.trim", "Prune a hedge")) == []


def test_tool_without_a_shared_word_is_missing_at_the_last_place() -> None:
    assert causes("the page of the site", ("hedge.trim", "Prune a hedge")) == [("no word", TOP + 1)]


def test_implied_tool_is_counted_as_such() -> None:
    tool = ("hedge.trim", "Prune a hedge")
    assert causes("the page of the site", tool, frozenset({tool[0]})) == [("implied", TOP + 1)]


def test_tool_behind_entries_that_share_another_word_is_crowded_out() -> None:
    assert causes("the winter page of the site", ("hedge.trim", "Prune a hedge in winter")) == [("siblings", TOP + 1)]
