"""Values that JSON cannot represent are named in inputs, steps and outputs of runs; none is changed silently."""

import asyncio
import math
from types import MappingProxyType

import pytest

from helmdeck_core import PackError, RunProgram
from helmdeck_runs import Run, RunState, StepFailedError, runs_of
from helmdeck_testing import plugin_with
from tests.helmdeck_runs.pipelines_support import deck_of, pack_of


async def endless(*_):
    return {"value": [1.5, math.inf]}


async def nan():
    return {"value": math.nan}


async def catches(run, steps, context):
    try:
        await steps.run("a", nan)
    except StepFailedError as exc:
        return {"message": exc.failure["message"]}


async def returns_nan(run, steps, context):
    return await nan()


ENDLESS = {"steps": [{"id": "s", "pack": "test.endless", "with": {}}]}
ECHO = {"steps": [{"id": "s", "pack": "test.echo", "with": {"x": "{{inputs.x}}"}}], "inputs": {"x": {}}}


def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_infinity_in_the_output_of_a_step_is_a_failure_of_the_step():
    problem = r"invalid_output: \$\.value\[1\]: inf is not a number of JSON"
    with deck_of({"p": ENDLESS}, pack_of("test.endless", endless)) as deck, pytest.raises(PackError, match=problem):
        deck.run("p", {})


class Word(str):
    """A string of a library."""

    __slots__ = ()


class Share(float):
    """A number of a library."""

    __slots__ = ()


def test_mappings_and_subclasses_of_plain_types_in_the_output_of_a_step_are_plain_in_the_next_one():
    async def make(*_):
        return {"value": MappingProxyType({"word": Word("tea"), "share": Share(0.5), "none": None})}

    async def name_types(_, arguments):
        return {"types": {name: type(each).__name__ for name, each in arguments["x"].items()}}

    steps = [
        {"id": "s", "pack": "test.make", "with": {}},
        {"id": "t", "pack": "test.types", "with": {"x": "{{steps.s.value}}"}},
    ]
    with deck_of(
        {"p": {"steps": steps}}, pack_of("test.make", make), pack_of("test.types", name_types, {"x": {}})
    ) as deck:
        outputs = deck.run("p", {})["outputs"]
    assert outputs["t"] == {"types": {"word": "str", "share": "float", "none": "NoneType"}}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([math.nan], r"x\[0\]: nan is not a number of JSON"),
        (deep(3_000), "x: it contains itself, or is nested too deeply"),
    ],
    ids=["nan", "deep"],
)
def test_input_that_json_cannot_represent_is_named(value, problem):
    async def echo(_, arguments):
        return arguments

    pipelines = {"p": ECHO}
    with (
        deck_of(pipelines, pack_of("test.echo", echo, {"x": {}})) as deck,
        pytest.raises(PackError, match=problem) as caught,
    ):
        deck.run("p", {"x": value})
    assert caught.value.code == "invalid_input"


def test_nan_of_a_program_and_of_its_steps_is_a_failure():
    programs = [RunProgram(name="catches", run=catches), RunProgram(name="returns", run=returns_nan)]
    with deck_of({}, plugins=(plugin_with("programs", helmdeck_run_programs=programs),)) as deck:
        caught = asyncio.run(runs_of(deck).execute(Run(kind="catches", name="x")))
        failed = asyncio.run(runs_of(deck).execute(Run(kind="returns", name="x")))
    assert caught.output["message"].startswith("$.value: nan is not a number of JSON")
    assert failed.state is RunState.FAILED and failed.failure["message"] == caught.output["message"]
