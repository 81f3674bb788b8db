"""Schemas in the words of every interface, held to by the grammars of real servers: noise becomes a plan that can be read."""

import json

import attrs
import httpx
import pytest
from jsonschema import Draft202012Validator

from helmdeck_core import Task, adapt_schema, load_catalog_file
from helmdeck_plugins.packs.checking import StepChecker
from helmdeck_plugins.packs.constraints import plan_forms
from helmdeck_plugins.providers.schema_dialects import DIALECTS, LLAMA_CPP_PYTHON

CONTEXT = 2048
SEEDS = range(4)
PLACE = {"type": "object", "properties": {"row": {"type": "integer"}, "side": {"enum": ["left", "right"]}}}
NOTE = {
    "text": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "place": PLACE,
    "times": {"type": ["integer", "null"]},
}
IMAGE = {"size": {"enum": ["small", "large"]}, "alt": {"type": "string"}}
DATA = {
    "packs": [
        {"name": "note.write", "input_schema": {"properties": NOTE, "required": ["text"]}},
        {"name": "image.make", "input_schema": {"properties": IMAGE}},
        {"name": "clock.now"},
    ],
    "pipelines": [{"id": "read-draw", "metadata": {"inputs": {"width": {"type": "integer"}}}}],
}


@pytest.fixture
def catalog(tmp_path):
    file = tmp_path / "catalog.json"
    file.write_text(json.dumps(DATA), encoding="utf-8")
    return load_catalog_file(file)


def held(url, schema, seed):
    """What the model writes under the schema; ``None`` where it comes to no end."""
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_object", "schema": schema},
        "max_tokens": 1_000,
        "temperature": 1.0,
        "seed": seed,
    }
    answer = httpx.post(f"{url}/chat/completions", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    (choice,) = answer.json()["choices"]
    # The grammar of the server in Python lets control characters stand in texts.
    return json.loads(choice["message"]["content"], strict=False) if choice["finish_reason"] == "stop" else None


def assert_holds(url, catalog, dialect):
    task = Task(name="plan", variant="full_steps", model="a/b", request="x", catalog=catalog)
    forms = {form.name: form.schema for form in plan_forms(task, single_pick="single_pick")}
    checker = StepChecker(catalog)
    for name, form in forms.items():
        schema = adapt_schema(form, dialect, is_read_freely=True).schema
        plans = [plan for seed in SEEDS if (plan := held(url, schema, seed)) is not None]
        assert plans, name
        for plan in plans:
            Draft202012Validator(schema).validate(plan)
        steps = [step for plan in plans for step in plan["steps"]]
        found = [checker.check(step["tool"], step["args"], step["rationale"]) for step in steps]
        assert all(step.corrected_from is None for step in found)
        if name == "arguments":
            assert not any(step.problems for step in found)
            assert None not in [value for step in found for key, value in step.args.items() if key != "times"]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_a_grammar_is_made_of_the_words_of_every_interface(llama_server, catalog, dialect):
    assert_holds(llama_server("random", context=CONTEXT), catalog, dialect)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_server_in_python_lives_on_where_no_bound_is_too_long_for_it(llama_cpp_python, catalog, dialect):
    short = attrs.evolve(dialect, most_length=LLAMA_CPP_PYTHON.most_length)
    assert_holds(llama_cpp_python("random", context=CONTEXT), catalog, short)
