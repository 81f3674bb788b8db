"""The page of hooks is what the generator writes, and it holds what the specifications say."""

import inspect
import re
from pathlib import Path

import pytest

from helmdeck_cli.printing.hook_reference import hooks, hooks_page
from helmdeck_core.hooks.builtins import builtin_plugins
from helmdeck_core.hooks.contributions import hook_specifications
from tests.case_support import each_case

ROOT = Path(__file__).parents[2]
NAMES = list(hook_specifications())


def test_hookspecs_md_is_what_the_generator_writes():
    written = (ROOT / "hookspecs.md").read_text(encoding="utf-8")
    assert written == hooks_page(), "run: helmdeck hooks --write hookspecs.md"


def test_every_specification_is_there_in_the_order_of_the_source():
    assert [hook.name for hook in hooks()] == NAMES


@pytest.fixture(scope="module")
def page():
    return hooks_page()


@each_case("hook", hooks(), ids=NAMES)
def test_a_section_has_heading_signature_kind_and_every_argument(page, hook):
    section = page.partition(f"## {hook.name}\n")[2].partition("\n## ")[0]
    function = hook_specifications()[hook.name]
    assert f"def {hook.name}(" in section
    assert str(inspect.signature(function).return_annotation) in section
    assert (hook.kind == "lookup") is ("None" in inspect.signature(function).return_annotation)
    assert hook.summary.replace("``", "`") in section
    assert all(f"- `{name}`: " in section for name in inspect.signature(function).parameters)
    assert "- returns: " in section
    assert re.search(r"\*New in \d+\.\d+\.\*", section), "state the version that the hook is new in: .. versionadded::"
    assert ":param" not in section
    assert "``" not in section.replace("```", "")


def test_every_built_in_plugin_is_named_at_its_hooks_with_the_way_to_replace_it():
    sections = hooks_page().split("\n## ")[1:]
    named = {plugin for plugin in builtin_plugins() if any(f"- plugin `{plugin}`" in section for section in sections)}
    assert named == set(builtin_plugins())
    assert all("block it: `[plugins] disable" in section for section in sections if "- plugin `" in section)
    trim_steps = next(section for section in sections if section.startswith("helmdeck_trim_steps"))
    assert "`description.firstSentence`" in trim_steps and "contribute one of the same name" in trim_steps
