"""The page of hooks is what the generator writes, and it holds what the specifications say."""

import inspect
from pathlib import Path

import pytest

from helmdeck_core import hookspecs
from helmdeck_core.hooks.docs import hooks, render

ROOT = Path(__file__).parents[2]
NAMES = [name for name in vars(hookspecs) if name.startswith("helmdeck_")]


def test_hookspecs_md_is_what_the_generator_writes():
    written = (ROOT / "hookspecs.md").read_text(encoding="utf-8")
    assert written == render(), "run: helmdeck hooks --write hookspecs.md"


def test_every_specification_is_there_in_the_order_of_the_source():
    assert [hook.name for hook in hooks()] == NAMES


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook.name)
def test_a_section_has_heading_signature_kind_and_every_argument(hook):
    page = render()
    section = page.partition(f"## {hook.name}\n")[2].partition("\n## ")[0]
    function = getattr(hookspecs, hook.name)
    assert f"def {hook.name}(" in section
    assert str(inspect.signature(function).return_annotation) in section
    assert (hook.kind == "look-up") is ("None" in inspect.signature(function).return_annotation)
    assert hook.summary.replace("``", "`") in section
    assert all(f"- `{name}`: " in section for name in inspect.signature(function).parameters)
    assert "- returns: " in section
    assert ":param" not in section
    assert "``" not in section.replace("```", "")
