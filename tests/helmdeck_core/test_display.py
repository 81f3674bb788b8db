"""Plans, routes and answers are readable when they are printed, and in notebooks."""

from helmdeck_core import Helmdeck
from helmdeck_testing import make_deck


def deck() -> Helmdeck:
    return make_deck(config={"model": "local/lexical"})


def test_printed_plan_has_one_line_per_step():
    plan = deck().plan("search the web for tide tables and make a <b>coffee</b>")
    lines = str(plan).splitlines()
    assert lines[0] == f"{plan.outcome.value} by local/lexical" and len(lines) == 1 + len(plan.steps)
    assert lines[1].startswith("1. web.search(query=")
    assert any(line.startswith("2. gap:") for line in lines)


def test_notebooks_show_the_same_text_escaped():
    plan = deck().plan("make a <b>coffee</b>")
    assert plan._repr_html_().startswith("<pre>gap by local/lexical") and "<b>" not in plan._repr_html_()


def test_printed_route_names_the_entry_and_what_is_missing():
    route = deck().route("search the web for tide tables")
    assert str(route).startswith("web.search by local/lexical\n")
    assert str(deck().route("brew a coffee")).startswith("no entry by local/lexical\n")
