"""Guards of plugins whose findings are not as they should be: nothing that they found is passed on."""

import asyncio

import attrs
import pytest

from helmdeck_core import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Guard,
    GuardFinding,
    GuardSpec,
    PluginError,
    StopReason,
    ToolDefinition,
)
from helmdeck_guards import GuardBlocked, Guards, GuardSender, guarded_stream
from helmdeck_testing import make_deck, plugin_with

TOOL = ToolDefinition("look_up", "", {})


@attrs.frozen(kw_only=True)
class NoOptions:
    """A kind of guard without options."""


def guards_with(guard, **table):
    spec = GuardSpec(name="mine", options=NoOptions, open=lambda *_: guard)
    tables = {"mine": {"kind": "mine", "action": "redact", **table}}
    return Guards(make_deck(plugin_with(helmdeck_guards=[spec]), config={"guards": tables}))


def session_with(guard, **table):
    return guards_with(guard, **table).session(GuardSender(), "up/m")


def service(*findings):
    async def check(_subject):
        return findings

    return Guard(check=check)


def detector(*findings):
    return Guard(find=lambda _: findings, held_from=len)


def streamed(session, text):
    async def chunks():
        yield [ChatDelta(text)]
        yield ChatResponse(text=text, stop_reason=StopReason.END_TURN)

    async def read():
        await session.check_request(ChatRequest(model="up/m", messages=()))
        return [chunk async for chunk in guarded_stream(session, chunks())]

    return asyncio.run(read())


@pytest.mark.parametrize("guard", [service, detector])
@pytest.mark.parametrize("place", [(-3, 90), (5, 2), (4, 900), (2, 2)])
def test_finding_outside_of_its_text_blocks_instead_of_staying_in_the_request(run, guard, place):
    with pytest.raises(GuardBlocked, match="found name"):
        run(session_with(guard(GuardFinding("name", *place))), ["Ask Jane."])


def test_finding_in_a_text_that_does_not_exist_blocks(run):
    with pytest.raises(GuardBlocked, match="found name"):
        run(session_with(service(GuardFinding("name", 4, 8, text=7))), ["Ask Jane."])


@pytest.mark.parametrize("guard", [service, detector])
def test_overlapping_findings_are_redacted_as_one(run, guard):
    findings = GuardFinding("name", 6, 10), GuardFinding("person", 4, 8), GuardFinding("name", 4, 6)
    assert run(session_with(guard(*findings)), ["Ask Jane Roe."]) == "Ask [PERSON_1]oe."


@pytest.mark.parametrize("on_failure", ["block", "pass"])
@pytest.mark.parametrize("guard", [service("Jane"), detector("Jane"), Guard(find_tool=lambda _: "Jane")])
def test_value_that_is_not_a_finding_is_a_failure_of_the_guard(run, guard, on_failure):
    session = session_with(guard, on_failure=on_failure)
    tools = {"tools": (TOOL,)}
    if on_failure == "pass":
        assert run.request(session, ["Ask Jane."], **tools).messages[0].text == "Ask Jane."
        assert [report.outcome for report in session.reports] == ["failed_open"]
    else:
        with pytest.raises(GuardBlocked, match="TypeError"):
            run.request(session, ["Ask Jane."], **tools)


def test_finding_without_a_place_blocks_a_stream_as_it_blocks_a_whole_answer():
    session = session_with(detector(GuardFinding("insult")), when=["answer"])
    with pytest.raises(GuardBlocked, match="found insult"):
        streamed(session, "you ...")


def test_held_place_that_is_not_a_number_is_a_failure_of_the_guard():
    guard = Guard(find=lambda _: [], held_from=lambda _: None)
    with pytest.raises(GuardBlocked, match="TypeError"):
        streamed(session_with(guard, when=["answer"]), "text")


def test_kind_that_opens_something_else_than_a_guard_is_a_mistake_of_its_plugin():
    with pytest.raises(PluginError, match="'mine' returned NoneType, not a Guard"):
        guards_with(None)


@pytest.mark.parametrize("field", [{"kind": None}, {"start": 1.5}, {"stop": "8"}, {"text": None}])
def test_finding_has_the_types_of_its_fields(field):
    with pytest.raises(TypeError):
        GuardFinding(**{"kind": "name", **field})
