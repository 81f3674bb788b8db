"""Schemas of every dialect under the grammars of real servers: noise becomes a decodable plan."""

import json

import attrs
import httpx
import pytest
from jsonschema import Draft202012Validator

from helmdeck_core import Task
from helmdeck_planner.packs.constraints import plan_forms
from helmdeck_planner.packs.validation import StepChecker
from helmdeck_providers.schemas.adapt import adapt_schema
from helmdeck_providers.schemas.server_dialects import DIALECTS, LLAMA_CPP_PYTHON
from helmdeck_selection import load_catalog_file

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


def constrained_output(url, schema, seed):
    """Return the model's output under the schema; ``None`` if it was truncated."""
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
    # The Python server's grammar allows control characters in strings.
    return json.loads(choice["message"]["content"], strict=False) if choice["finish_reason"] == "stop" else None


def assert_valid_plans(url, catalog, dialect):
    task = Task(name="plan", variant="full_steps", model="a/b", request="x", catalog=catalog)
    forms = {form.name: form.schema for form in plan_forms(task, single_pick="single_pick")}
    checker = StepChecker(catalog)
    for name, form in forms.items():
        schema = adapt_schema(form, dialect, is_read_freely=True).schema
        plans = [plan for seed in SEEDS if (plan := constrained_output(url, schema, seed)) is not None]
        assert plans, name
        for plan in plans:
            Draft202012Validator(schema).validate(plan)
        steps = [step for plan in plans for step in plan["steps"]]
        checks = [checker.check(step["tool"], step["args"], step["rationale"]) for step in steps]
        assert all(step.corrected_from is None for step in checks)
        if name == "arguments":
            assert not any(step.problems for step in checks)
            assert None not in [value for step in checks for key, value in step.args.items() if key != "times"]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_every_schema_dialect_compiles_to_a_grammar(llama_server, catalog, dialect):
    assert_valid_plans(llama_server("random", context=CONTEXT), catalog, dialect)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_python_server_supports_every_dialect_with_short_bounds(llama_cpp_python, catalog, dialect):
    short = attrs.evolve(dialect, most_length=LLAMA_CPP_PYTHON.most_length)
    assert_valid_plans(llama_cpp_python("random", context=CONTEXT), catalog, short)
