"""Parts of the agent loop: loop detector, references, policy, bounded outputs, planning calls."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Catalog
from helmdeck_runs.agent.actions import MakePlan
from helmdeck_runs.agent.detector import LoopDetector, Severity
from helmdeck_runs.agent.driver import AgentTask, PackPlanner
from helmdeck_runs.agent.outputs import MAX_CHARS, failure_text, output_text
from helmdeck_runs.agent.policy import Decision, Policy
from helmdeck_runs.agent.references import MissingReferenceError, resolve
from helmdeck_runs.agent.run_data import Spent
from helmdeck_runs.runs import PackOutcome
from tests.case_support import each_case
from tests.helmdeck_runs.agent_support import DESTRUCTIVE, READ_ONLY, entry

# -- detector --------------------------------------------------------------------------------------------------


def severities(calls):
    detector, found = LoopDetector(), []
    for tool, arguments, result in calls:
        found.append(detector.judge(tool, arguments).severity)
        detector.record(tool, arguments, result)
    return found


NONE, WARN, BLOCK, STOP = Severity


def test_same_call_is_warned_blocked_and_stopped():
    assert severities([("a", {"x": 1}, n) for n in range(5)]) == [NONE, NONE, WARN, BLOCK, STOP]


def test_order_of_keys_does_not_hide_a_repetition():
    calls = [("a", {"x": 1, "y": {"b": 1, "a": 2}}, 0), ("a", {"y": {"a": 2, "b": 1}, "x": 1}, 1)] * 2
    assert severities(calls) == [NONE, NONE, WARN, BLOCK]


def test_alternating_calls_are_warned_blocked_and_stopped():
    detector = LoopDetector()
    found = [detector.judge("ab"[n % 2], {"n": n % 2}) for n in range(12)]
    alternating = [max(each.severity for each in found[: 2 * cycles]) for cycles in range(1, 7)]
    assert alternating[1] is NONE
    assert found[-1].severity is STOP


def test_different_arguments_with_the_same_result_are_fruitless():
    assert severities([("search", {"q": n}, []) for n in range(8)]) == [NONE] * 5 + [WARN, BLOCK, STOP]


def test_repeated_failures_count():
    failure = {"cause": "timeout"}
    assert severities([("search", {"q": n}, failure) for n in range(8)])[-1] is STOP


def test_different_results_are_progress():
    assert set(severities([("search", {"q": n}, n) for n in range(20)])) == {NONE}


# -- references ------------------------------------------------------------------------------------------------

OUTPUTS = {1: {"id": 7, "files": [{"path": "a.txt"}], "text": "{{steps.2}}"}, 2: "two"}


@each_case(
    ("value", "expected"),
    [
        ("{{steps.1.id}}", 7),
        (" {{ steps.1.files[0].path }} ", "a.txt"),
        ("{{steps.1.files}}", [{"path": "a.txt"}]),
        ("see {{steps.1.id}} and {{steps.2}}", "see 7 and two"),
        ({"a": ["{{steps.2}}"], "b": 3}, {"a": ["two"], "b": 3}),
        ("{{steps.1.text}}", "{{steps.2}}"),
        ("x {{steps.1.text}}", "x {{steps.2}}"),
        ("{{inputs.x}} {steps.1}", "{{inputs.x}} {steps.1}"),
    ],
)
def test_references_keep_types_and_are_expanded_once(value, expected):
    assert resolve(value, OUTPUTS) == expected


@each_case(
    ("value", "message"),
    [
        ("{{steps.3}}", "step 3 has no output; steps with an output: 1, 2"),
        ("{{steps.1.name}}", "there is no 'name'; there is 'id', 'files', 'text'"),
        ("{{steps.1.files[1]}}", "there is no '1'; there is a list of 1"),
        ("{{steps.2.x}}", "there is no 'x'; there is a value of type str"),
    ],
)
def test_missing_reference_is_an_error_that_lists_the_available_fields(value, message):
    with pytest.raises(MissingReferenceError) as raised:
        resolve(value, OUTPUTS)
    assert message in str(raised.value)


def test_reference_that_was_copied_from_data_stays_as_it_is():
    assert resolve("{{steps.1.id}} {{steps.2}}", OUTPUTS, lambda text: "1" in text) == "{{steps.1.id}} two"


# -- policy ----------------------------------------------------------------------------------------------------

PIPELINES = [
    {"id": "look", "description": "Looks.", "steps": [{"id": "a", "pack": "fs.read"}, {"id": "b", "pack": "fs.read"}]},
    {
        "id": "clean",
        "description": "Cleans.",
        "steps": [{"id": "a", "pack": "fs.read"}, {"id": "b", "pack": "fs.delete"}],
    },
    {"id": "nested", "description": "Both.", "steps": [{"id": "a", "pack": "clean"}]},
    {"id": "itself", "description": "Loops.", "steps": [{"id": "a", "pack": "itself"}]},
    {"id": "empty", "description": "Nothing."},
]
PACKS = [
    entry("fs.read", READ_ONLY),
    entry("fs.delete", DESTRUCTIVE),
    entry("fs.write"),
    entry("liar", {"readOnlyHint": True, "destructiveHint": True}),
    entry("vague", {"readOnlyHint": "true"}),
]
CATALOG = Catalog.from_data({"packs": PACKS, "pipelines": PIPELINES}, "test")


@each_case(
    ("entry_id", "decision"),
    [
        ("fs.read", Decision.ALLOW),
        ("fs.delete", Decision.CONFIRM),
        ("fs.write", Decision.CONFIRM),
        ("liar", Decision.CONFIRM),
        ("vague", Decision.CONFIRM),
        ("unknown", Decision.CONFIRM),
        ("look", Decision.ALLOW),
        ("clean", Decision.CONFIRM),
        ("nested", Decision.CONFIRM),
        ("itself", Decision.CONFIRM),
        ("empty", Decision.CONFIRM),
    ],
)
def test_only_what_is_annotated_as_read_only_needs_no_confirmation(entry_id, decision):
    assert Policy(CATALOG, {}).ruling(entry_id).decision is decision


def test_longest_rule_of_the_configuration_applies():
    policy = Policy(CATALOG, {"fs.*": "deny", "fs.w*": "allow", "fs.read": "confirm", "*": "allow"})
    rulings = {
        name: policy.ruling(name).decision.value for name in ("fs.read", "fs.write", "fs.delete", "liar", "clean")
    }
    assert rulings == {
        "fs.read": "confirm", "fs.write": "allow", "fs.delete": "deny", "liar": "allow", "clean": "allow",
    }  # fmt: skip


def test_denied_step_denies_its_pipeline():
    policy = Policy(CATALOG, {"fs.delete": "deny"})
    assert policy.ruling("nested").decision is Decision.DENY
    assert policy.ruling("look").decision is Decision.ALLOW


# -- outputs ---------------------------------------------------------------------------------------------------

LONG = st.builds(lambda text, times: text * times, st.text(max_size=12), st.integers(0, 50))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | LONG,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(LONG, inner, max_size=20),
    max_leaves=40,
)


@given(JSON)
def test_text_of_an_output_is_bounded(value):
    text = output_text(value)
    assert len(text) <= MAX_CHARS + 1
    assert "\n" not in text


def test_long_strings_are_shortened_before_fields_are_lost():
    text = output_text({"text": "x" * 5_000, "path": "/tmp/a.svg", "rows": list(range(100))})
    assert '"path":"/tmp/a.svg"' in text
    assert "(5,000 characters)" in text


def test_failure_is_one_bounded_line():
    text = failure_text({"cause": "timeout", "message": "a\nb" + "x" * 5_000})
    assert text.startswith("timeout: a b")
    assert len(text) <= 600


# -- planning calls --------------------------------------------------------------------------------------------


class Context:
    """A context that notes the arguments of packs."""

    catalog = Catalog.from_data({"packs": [entry("a.one")]}, "test")

    async def run_pack(self, name, arguments, limits):
        self.arguments = arguments
        return PackOutcome()


def test_executed_step_of_an_entry_that_has_left_the_catalog_is_planned_with_as_an_unknown_tool():
    context, done = Context(), [{"tool": "a.one", "output": "step 1: 1"}, {"tool": "gone.two", "failure": "timeout"}]
    asyncio.run(PackPlanner(AgentTask(intent="do it")).ask(MakePlan(2, done), Spent(), (), context))
    assert context.arguments["done"] == [done[0], {"tool": "unknown", "failure": "gone.two, timeout"}]
