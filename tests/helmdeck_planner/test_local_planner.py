"""``local/lexical``: plans and routes without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    Catalog,
    ChatRequest,
    ChatResponse,
    CompletedStep,
    InvalidRequest,
    Provider,
    ProviderContext,
    ProviderSettings,
    StopReason,
    Task,
)
from helmdeck_planner.embedded import helmdeck_providers
from helmdeck_testing import make_deck
from tests.case_support import each_case

ROOT = Path(__file__).parents[2]


def pack(
    name: str, description: str = "", properties: Mapping[str, Any] | None = None, **metadata: Any
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "description": description, "metadata": metadata}
    return (
        entry if properties is None else {**entry, "input_schema": {"type": "object", "properties": dict(properties)}}
    )


TEXT, LIST = {"type": "string"}, {"type": "array"}
KITCHEN = Catalog.from_data(
    {
        "packs": [
            pack("recipe.find", "Look up recipes by ingredient.", intent_keywords=["find a recipe"]),
            pack(
                "shopping.list",
                "Write a shopping list.",
                {"items": LIST, "store": TEXT},
                intent_keywords=["shopping list"],
            ),
            pack(
                "page.clip",
                "Clip a recipe from a web page.",
                {"url": TEXT, "folder": TEXT},
                intent_keywords=["clip the page"],
            ),
            pack(
                "mail.send", "Send a message by e-mail.", {"to": LIST, "body": TEXT}, intent_keywords=["send by mail"]
            ),
            pack("oven.preheat", "Preheat the oven to a temperature.", intent_keywords=["preheat the oven"]),
        ],
        "pipelines": [
            {
                "id": "weekly-dinner",
                "name": "Weekly dinner",
                "description": "Find recipes for a week and write the shopping list.",
                "metadata": {
                    "intent_keywords": ["plan my dinners"],
                    "supersedes": ["recipe.find", "shopping.list"],
                    "steps": [{"id": "a", "pack": "recipe.find"}, {"id": "b", "pack": "shopping.list"}],
                    "inputs": {"people": {"type": "integer"}, "store": TEXT},
                },
            }
        ],
    },
    "test",
)


def planner() -> Provider:
    (spec,) = helmdeck_providers()
    assert spec.name == "local"
    return spec.open(ProviderSettings(name="local"), cast(ProviderContext, None))


def respond(request: ChatRequest) -> ChatResponse:
    return asyncio.run(planner().complete(request))


def ask(
    request: str,
    name: str = "plan",
    variant: str = "full_steps",
    done: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
    catalog: Catalog = KITCHEN,
) -> dict[str, Any]:
    task = Task(
        name=name,
        variant=variant,
        model="local/lexical",
        request=request,
        catalog=catalog,
        done=tuple(CompletedStep(tool) for tool in done),
        defaults=defaults or {},
    )
    answer = json.loads(respond(ChatRequest(model="local/lexical", messages=(), task=task)).text)
    assert isinstance(answer, dict)
    return answer


def tools(answer: dict[str, Any]) -> list[str]:
    return [step["tool"] for step in answer["steps"]]


# -- plans -------------------------------------------------------------------------------------------------


def test_every_requesting_clause_gets_a_step_in_order() -> None:
    answer = ask("Preheat the oven, find a recipe with leeks, and send it by mail to my aunt")
    assert tools(answer) == ["oven.preheat", "recipe.find", "mail.send"]
    assert [step["order"] for step in answer["steps"]] == [1, 2, 3]
    assert answer["complexity"] == "pack-chain"
    assert "more_steps_likely" not in answer


def test_a_single_action_is_one_step() -> None:
    answer = ask("preheat the oven")
    assert tools(answer) == ["oven.preheat"]
    assert answer["complexity"] == "single-action"


def test_the_same_tool_is_planned_for_each_part_that_requests_it() -> None:
    assert tools(ask("Find a recipe with leeks. Then find a recipe with plums.")) == ["recipe.find", "recipe.find"]


def test_pipeline_that_covers_all_clauses_is_chosen() -> None:
    answer = ask("find a recipe for Monday and write a shopping list")
    assert tools(answer) == ["helmdeck__pipeline-run"]
    assert answer["steps"][0]["args"]["id"] == "weekly-dinner"
    assert answer["complexity"] == "pipeline-direct"


def test_pipeline_is_chosen_by_its_keywords() -> None:
    assert ask("please plan my dinners")["steps"][0]["args"]["id"] == "weekly-dinner"


def test_pipeline_that_misses_a_clause_is_not_chosen() -> None:
    answer = ask("find a recipe, write a shopping list, and preheat the oven")
    assert tools(answer) == ["recipe.find", "shopping.list", "oven.preheat"]


def test_pipeline_is_not_chosen_for_one_of_its_packs() -> None:
    assert tools(ask("find a recipe")) == ["recipe.find"]


def test_clause_without_match_is_a_gap() -> None:
    answer = ask("Preheat the oven and repair my tractor")
    assert tools(answer) == ["oven.preheat", "unknown"]
    assert answer["steps"][1]["rationale"].startswith("gap: ")
    assert "tractor" in answer["steps"][1]["rationale"]


@each_case("request_text", ["", "hm", "repair my tractor", "\ud800\x00"])
def test_request_without_match_is_a_gap_and_not_an_empty_plan(request_text: str) -> None:
    assert tools(ask(request_text)) == ["unknown"]


def test_executed_steps_are_not_planned_again() -> None:
    request = "Preheat the oven, find a recipe with leeks, and send it by mail to my aunt"
    assert tools(ask(request, done=["oven.preheat"])) == ["recipe.find", "mail.send"]


def test_single_pick_returns_the_next_step_only() -> None:
    request = "Preheat the oven, find a recipe with leeks, and send it by mail to my aunt"
    first = ask(request, variant="single_pick")
    assert (tools(first), first["more_steps_likely"]) == (["oven.preheat"], True)
    second = ask(request, variant="single_pick", done=["oven.preheat"])
    assert (tools(second), second["more_steps_likely"]) == (["recipe.find"], True)
    last = ask(request, variant="single_pick", done=["oven.preheat", "recipe.find"])
    assert (tools(last), last["more_steps_likely"]) == (["mail.send"], False)
    nothing = ask(request, variant="single_pick", done=["oven.preheat", "recipe.find", "mail.send"])
    assert (nothing["steps"], nothing["more_steps_likely"]) == ([], False)


def test_executed_pipeline_among_other_steps_is_not_repeated() -> None:
    request = "Plan my dinners and preheat the oven"
    assert tools(ask(request)) == ["helmdeck__pipeline-run", "oven.preheat"]
    assert tools(ask(request, done=["helmdeck__pipeline-run"])) == ["oven.preheat"]
    assert tools(ask(request, done=["weekly-dinner", "oven.preheat"])) == []


def test_reported_gap_is_not_repeated() -> None:
    answer = ask("Repair my tractor and preheat the oven", variant="single_pick", done=["unknown"])
    assert (tools(answer), answer["more_steps_likely"]) == (["oven.preheat"], False)


def test_executed_pipeline_leaves_no_steps() -> None:
    answer = ask("find a recipe and write a shopping list", "plan", "single_pick", done=["helmdeck__pipeline-run"])
    assert (answer["steps"], answer["more_steps_likely"]) == ([], False)


# -- arguments ---------------------------------------------------------------------------------------------


def test_url_in_a_clause_becomes_the_matching_argument() -> None:
    (step,) = ask("clip the page https://cook.example/leek.html.")["steps"]
    assert step["args"] == {"url": "https://cook.example/leek.html"}


def test_a_list_argument_gets_a_list() -> None:
    (step,) = ask("send by mail to ada@cook.example")["steps"]
    assert step["args"] == {"to": ["ada@cook.example"]}


def test_ambiguous_url_is_not_used() -> None:
    text = "See https://a.example and https://b.example. Clip the page."
    assert ask(text)["steps"][0]["args"] == {}


def test_defaults_fill_arguments_of_their_name_only() -> None:
    (step,) = ask("write a shopping list", defaults={"store": "corner shop", "colour": "red"})["steps"]
    assert step["args"] == {"store": "corner shop"}


def test_pipeline_inputs_come_from_the_defaults_too() -> None:
    (step,) = ask("plan my dinners", defaults={"people": 4})["steps"]
    assert step["args"] == {"id": "weekly-dinner", "inputs": {"people": 4}}


# -- routes ------------------------------------------------------------------------------------------------


def test_a_route_recommends_the_best_entry_and_names_alternatives() -> None:
    answer = ask("find a recipe on a web page", name="route", defaults={"folder": "inbox"})
    assert answer["recommendation"]["kind"] == "pack"
    assert answer["recommendation"]["id"] in {"recipe.find", "page.clip"}
    assert 0 < len(answer["alternatives"]) <= 3
    assert answer["recommendation"]["id"] not in [other["id"] for other in answer["alternatives"]]
    assert answer["gap_warning"] is None


def test_a_route_prefers_the_covering_pipeline() -> None:
    answer = ask("find a recipe for Monday and write a shopping list", name="route")
    assert (answer["recommendation"]["kind"], answer["recommendation"]["id"]) == ("pipeline", "weekly-dinner")


@pytest.mark.parametrize("request_text", ["repair my tractor", ""])
def test_route_reports_a_gap(request_text: str) -> None:
    answer = ask(request_text, name="route")
    assert answer["recommendation"]["kind"] == "none"
    assert answer["gap_warning"]


def writing_desk(**schemas: Any) -> Catalog:
    def entry(name: str, description: str) -> dict[str, Any]:
        return {
            "name": name,
            "description": description,
            "input_schema": {"type": "object", **schemas[name.split(".")[0]]},
        }

    packs = [entry("blog.draft", "Draft a blog post."), entry("image.generate", "Generate an image.")]
    return Catalog.from_data({"packs": packs}, "test")


ANNOUNCEMENT = (ROOT / "docs" / "examples" / "announcement.txt").read_text(encoding="utf-8")
DESK = writing_desk(
    blog={"properties": {"brief": TEXT, "tone": TEXT}, "required": ["brief"]},
    image={"properties": {"prompt": TEXT, "size": {**TEXT, "enum": ["s", "l"]}}, "required": ["prompt", "size"]},
)


def test_required_text_is_the_document_or_its_title() -> None:
    asked = "draft a blog post about it, and generate an image"
    title = ANNOUNCEMENT.splitlines()[0]
    post, image = (step["args"] for step in ask(f"{ANNOUNCEMENT}\n\n{asked}", catalog=DESK)["steps"])
    assert post.keys() == {"brief"} and post["brief"].startswith(title)
    assert image == {"prompt": title}


@each_case(
    "request_text",
    [
        "read the file a.txt",
        "read a file",
        "please read ./notes/2024-05-01.final.md",
        "read the file at https://a.example/x.txt",
    ],
)
def test_values_in_a_request_do_not_prevent_a_match(request_text: str) -> None:
    catalog = Catalog.from_data({"packs": [{"name": "read_file", "description": "Read a text file."}]}, "test")
    assert tools(ask(request_text, catalog=catalog)) == ["read_file"]


def test_top_level_steps_count_for_a_pipeline() -> None:
    packs = [{"name": "tea.boil", "description": "Boil water."}, {"name": "tea.pour", "description": "Pour the tea."}]
    pipeline = {
        "id": "tea-time",
        "description": "Tea.",
        "steps": [{"id": "a", "pack": "tea.boil"}, {"id": "b", "pack": "tea.pour"}],
    }
    catalog = Catalog.from_data({"packs": packs, "pipelines": [pipeline]}, "test")
    (step,) = ask("boil water and pour the tea", catalog=catalog)["steps"]
    assert step["args"]["id"] == "tea-time"


def test_text_that_the_request_does_not_state_stays_open() -> None:
    post, image = (
        step["args"] for step in ask("draft a blog post on bees, and generate an image", catalog=DESK)["steps"]
    )
    assert (post, image) == ({"brief": "bees"}, {})


def test_no_sentence_of_a_document_is_lost() -> None:
    request = "remember this, draft a blog post about it, and make an illustration"
    with make_deck() as deck:
        store, draft, _ = deck.plan(f"{ANNOUNCEMENT}\n\n{request}", model="local/lexical").steps
    assert store.args["text"].split() == draft.args["brief"].split() == ANNOUNCEMENT.split()


@pytest.mark.parametrize(
    "document",
    [ANNOUNCEMENT * 20, "\n\n".join([ANNOUNCEMENT.strip()] * 20)],
    ids=["no blank line between the copies", "a blank line between the copies"],
)
def test_a_very_long_document_is_left_out_of_the_arguments(document: str) -> None:
    (step,) = ask(f"{document}\n\nplease draft a blog post about this", catalog=DESK)["steps"]
    assert step["tool"] == "blog.draft" and step["args"] == {}


@each_case("joint", ["", "\n", "\n\n", "\n\n\n"])
@each_case("order", ["before", "after", "around"])
@each_case("times", [2, 3, 5])
def test_pasting_a_document_again_adds_no_steps(times: int, order: str, joint: str) -> None:
    request = "please draft a blog post about this, and generate an image"
    pasted = joint.join([ANNOUNCEMENT] * times)
    text = {
        "before": f"{pasted}\n\n{request}",
        "after": f"{request}\n\n{pasted}",
        "around": f"{pasted}\n\n{request}\n\n{pasted}",
    }[order]
    assert [step["tool"] for step in ask(text, catalog=DESK)["steps"]] == ["blog.draft", "image.generate"]


def test_a_route_suggests_inputs() -> None:
    answer = ask("clip the page https://cook.example/x", name="route")
    assert answer["recommendation"]["suggested_inputs"] == {"url": "https://cook.example/x"}


# -- the provider ------------------------------------------------------------------------------------------


def test_the_response_ends_cleanly_and_costs_nothing() -> None:
    task = Task(name="plan", variant="full_steps", model="local/lexical", request="preheat the oven", catalog=KITCHEN)
    response = respond(ChatRequest(model="local/lexical", messages=(), task=task))
    assert response.stop_reason is StopReason.END_TURN
    assert response.raw_stop_reason == "stop"
    assert response.usage.output_tokens == 0
    assert response.served_model == "lexical"
    assert response.latency_s > 0
    assert "\n" not in response.text


def test_unknown_model_error_names_the_only_model() -> None:
    with pytest.raises(InvalidRequest, match="local/lexical"):
        respond(ChatRequest(model="local/gpt", messages=()))


def test_chat_without_task_is_rejected() -> None:
    with pytest.raises(InvalidRequest, match="only plan and route"):
        respond(ChatRequest(model="local/lexical", messages=()))


def test_unsupported_task_is_named() -> None:
    task = Task(name="poem", variant="", model="local/lexical", request="x", catalog=KITCHEN)
    with pytest.raises(InvalidRequest, match="'poem'"):
        respond(ChatRequest(model="local/lexical", messages=(), task=task))


def test_provider_serves_several_catalogs() -> None:
    provider = planner()
    other = Catalog.from_data({"packs": [pack("tractor.repair", "Repair a tractor.")]}, "test")
    seen = []
    for catalog in (KITCHEN, other, KITCHEN):
        task = Task(
            name="plan", variant="full_steps", model="local/lexical", request="repair my tractor", catalog=catalog
        )
        response = asyncio.run(provider.complete(ChatRequest(model="local/lexical", messages=(), task=task)))
        seen.append(tools(json.loads(response.text)))
    assert seen == [["unknown"], ["tractor.repair"], ["unknown"]]


# -- the announcement and its three wishes -----------------------------------------------------------------


@pytest.fixture(scope="module")
def example() -> Catalog:
    path = ROOT / "plugins" / "helmdeck_selection" / "catalogs" / "example_catalog.json"
    return Catalog.from_data(json.loads(path.read_text(encoding="utf-8")), "example")


WISHES = "remember this, draft a blog post about it, and make an illustration"
ANNOUNCEMENT = (ROOT / "docs" / "examples" / "announcement.txt").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize(
    "request_text",
    [
        WISHES,
        f"{ANNOUNCEMENT}\n\n{WISHES}",
        f"{ANNOUNCEMENT}\n{WISHES}",
        f"{ANNOUNCEMENT} {WISHES}",
        f"{WISHES}\n\n{ANNOUNCEMENT}",
        f"{WISHES}:\n{ANNOUNCEMENT}",
    ],
    ids=["alone", "after", "after-line", "after-blank", "before", "before-line"],
)
def test_three_requests_about_an_announcement_become_three_steps(example: Catalog, request_text: str) -> None:
    assert tools(ask(request_text, catalog=example)) == ["helmdeck.memory_store", "blog.draft", "image.generate"]


# -- laws --------------------------------------------------------------------------------------------------

KNOWN = {entry.id for entry in KITCHEN.packs} | {"unknown", "helmdeck__pipeline-run"}
REQUESTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=300),
    st.lists(st.sampled_from("find a recipe and, send mail. then oven preheat list tractor".split()), max_size=30).map(
        " ".join
    ),
)


@given(REQUESTS, st.sampled_from(["full_steps", "single_pick"]), st.lists(st.sampled_from(sorted(KNOWN)), max_size=3))
def test_a_plan_names_only_what_the_catalog_has(request_text: str, variant: str, done: list[str]) -> None:
    answer = ask(request_text, variant=variant, done=done)
    assert set(tools(answer)) <= KNOWN
    for step in answer["steps"]:
        if step["tool"] == "helmdeck__pipeline-run":
            assert step["args"]["id"] == "weekly-dinner"
    assert len(answer["steps"]) <= 1 or variant == "full_steps"
    assert answer == ask(request_text, variant=variant, done=done)


@given(REQUESTS)
def test_a_route_names_only_what_the_catalog_has(request_text: str) -> None:
    answer = ask(request_text, name="route")
    named = {other["id"] for other in answer["alternatives"]} | {answer["recommendation"]["id"]}
    assert named <= {entry.id for entry in KITCHEN.entries} | {""}
    assert len(answer["alternatives"]) <= 3
