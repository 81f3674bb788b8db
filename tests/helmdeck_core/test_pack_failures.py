"""Whatever a pack's handler does, its caller gets a failure of a known kind, and the process lives."""

import asyncio
import json
from types import MappingProxyType

import pytest

from helmdeck_core import (
    FAILURES,
    CallLimits,
    LikelyTimeout,
    Pack,
    PackError,
    PackErrorCode,
    Question,
    hookimpl,
)
from helmdeck_core.cli import error_data
from helmdeck_core.packs import runner as module
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.case_support import each_case

WIRE = {"class", "cause", "code", "retryable", "message", "next_action"}


class Unreadable(Exception):
    def __str__(self):
        raise ValueError("not even this")


class Sneaky:
    def to_dict(self):
        raise KeyError("gone")


class Word(str):
    __slots__ = ()


ITSELF = {}
ITSELF["self"] = [ITSELF]


async def hang(context, value):
    await asyncio.Event().wait()


async def recurse(context, value):
    return await recurse(context, value)


async def cancel_itself(context, value):
    inner = asyncio.get_running_loop().create_future()
    inner.cancel()
    await inner


async def ask(context, value):
    return {"said": (await context.ask(Question(caller="t", task="t", type=dict, request="x", instructions="i"))).value}


def raising(make):
    async def handler(context, value):
        raise make()

    return handler


def returning(output):
    async def handler(context, value):
        return output

    return handler


@pytest.fixture
def fails(deck_with):
    def run(handler, limits=CallLimits(), **options):  # noqa: B008
        class Packs:
            @hookimpl
            def helmdeck_packs(self):
                return [Pack(name="t.it", version="1", description="x.", run=handler, **options)]

        deck = deck_with(Packs())
        with pytest.raises(PackError) as caught:
            deck.run("t.it", {}, limits=limits)
        assert deck.plan("draft a blog post", model="local/lexical").steps, "the deck still works"
        return caught.value

    return run


# -- the wire --------------------------------------------------------------------------------------------------


@each_case("cls", FAILURES.values(), ids=lambda cls: cls.__name__)
def test_a_failed_call_says_code_class_cause_whether_to_retry_and_what_to_do(cls):
    wire = cls("x", "a/b").to_dict()
    assert wire.keys() >= WIRE and all(wire[key] not in ("", None) for key in WIRE)
    assert (wire["class"], wire["cause"]) == (cls.__name__, cls.failure_class.value)
    assert wire["code"] in set(PackErrorCode) and isinstance(wire["retryable"], bool)


@each_case("code", PackErrorCode)
def test_a_failed_pack_says_the_same(code):
    failed = PackError("a.b", code, "it broke")
    wire = failed.to_dict()
    assert wire.keys() >= WIRE and wire["next_action"] and json.dumps(wire)
    assert (wire["class"], wire["cause"], wire["code"]) == ("PackError", code.value, code.value)
    assert wire["retryable"] is (code is PackErrorCode.TIMEOUT)
    assert error_data(failed).items() >= wire.items(), "and the command line as well"


# -- codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["out_of_cheese", "", "TIMEOUT"])
def test_an_unknown_code_is_internal(fails, code):
    assert PackError("a.b", code, "x").code is PackErrorCode.INTERNAL
    failed = fails(raising(lambda: PackError("t.it", code, "no more")))
    assert (failed.code, failed.detail) == (PackErrorCode.INTERNAL, "no more")


def test_a_code_as_text_is_the_code():
    assert PackError("a.b", "artifact_failed", "x").code is PackErrorCode.ARTIFACT_FAILED


# -- deadlines -------------------------------------------------------------------------------------------------


def test_a_handler_whose_own_limit_expires_ends_as_timeout(fails):
    async def handler(context, value):
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()

    assert fails(handler).code is PackErrorCode.TIMEOUT
    assert fails(raising(lambda: TimeoutError("the render took too long"))).detail.endswith("the render took too long")


def test_a_handler_that_hangs_ends_with_the_deadline_of_the_call(virtual_time, fails):
    failed = fails(hang, CallLimits(deadline_s=20.0))
    assert failed.code is PackErrorCode.TIMEOUT and failed.retryable
    assert virtual_time.passed_s == pytest.approx(20.0 + module.GRACE_S)


def test_model_call_that_exceeds_the_deadline_of_its_pack_is_a_timeout(virtual_time):
    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            return [Pack(name="t.it", version="1", description="x.", run=ask)]

    with (
        make_deck(Packs(), scripted_provider([Reply("{}", delay_s=30)])) as deck,
        pytest.raises(LikelyTimeout) as caught,
    ):
        deck.run("t.it", {}, model="scripted/a", limits=CallLimits(deadline_s=0.1))
    assert (caught.value.sub_cause, caught.value.code) == ("deadline", PackErrorCode.TIMEOUT)
    assert caught.value.to_dict()["code"] == "timeout" and LikelyTimeout("x").code is PackErrorCode.HANDLER_FAILED


# -- crashes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handler", "detail"),
    [
        (raising(lambda: KeyError("boom")), "KeyError: 'boom'"),
        (raising(lambda: SystemExit(3)), "SystemExit: 3"),
        (raising(lambda: MemoryError()), "MemoryError"),
        (raising(Unreadable), "Unreadable: its message cannot be read"),
        (raising(lambda: ExceptionGroup("two", [ValueError(1), KeyError(2)])), "ExceptionGroup: two"),
        (recurse, "RecursionError"),
        (cancel_itself, "CancelledError"),
        (lambda context, value: {"not": "awaitable"}, "TypeError"),
        (lambda: None, "TypeError"),
    ],
)
def test_a_crash_in_a_handler_is_a_typed_failure_with_its_cause(fails, handler, detail):
    failed = fails(handler)
    assert failed.code is PackErrorCode.HANDLER_FAILED and failed.detail.startswith(detail)
    assert failed.__cause__ is not None


def test_a_long_message_of_a_crash_is_shortened(fails):
    failed = fails(raising(lambda: ValueError("m" * 1_000_000)))
    assert failed.detail.startswith("ValueError: mmm") and failed.detail.endswith("… (1,000,000 characters)")
    assert len(failed.detail) < 5_000


def test_an_output_that_cannot_be_read_is_no_output(fails):
    failed = fails(returning(Sneaky()), output_schema={"type": "object"})
    assert failed.code is PackErrorCode.INVALID_OUTPUT and "KeyError" in failed.detail


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (ITSELF, "the output contains itself, or is nested too deeply for JSON"),
        (object(), "the output is not JSON: it contains a value of type object"),
        ({(1, 2): 3}, "the output is not JSON: it contains a value of type tuple"),
        ([None, float("nan")], "$.x[1]: nan is not a number of JSON"),
        ("caf\udce9", r"$.x: character 4 is the surrogate '\udce9'"),
    ],
)
@pytest.mark.parametrize("schema", [{}, {"type": "object", "properties": {"x": {"items": {"type": "object"}}}}])
def test_an_output_that_is_not_json_is_no_output(fails, value, detail, schema):
    failed = fails(returning({"x": value}), output_schema=schema)
    assert failed.code is PackErrorCode.INVALID_OUTPUT and failed.detail.startswith(detail)


def test_an_output_of_mappings_tuples_and_subclasses_of_plain_types_is_json(deck_with):
    output = {"x": MappingProxyType({"words": (Word("tea"), frozenset((3,)))})}

    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            return [Pack(name="t.it", version="1", description="x.", run=returning(output))]

    assert deck_with(Packs()).run("t.it", {}) == output


def test_a_call_that_is_cancelled_from_outside_stays_cancelled(deck_with):
    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            return [Pack(name="t.it", version="1", description="x.", run=hang)]

    async def cancelled():
        running = asyncio.ensure_future(deck_with(Packs()).arun("t.it", {}))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        return running.cancelled()

    assert asyncio.run(cancelled())


@pytest.mark.parametrize(
    "value", [{}, {"unknown": "field"}, {"intent": 3}, {"intent": None, "text": []}, {"intent": " "}]
)
def test_every_pack_refuses_bad_input_with_a_code_and_without_a_call(value):
    with make_deck(scripted_provider([]), model="scripted/any") as deck:
        assert len(deck.runtime.contributed(Pack)) >= 2
        for name, owned in deck.runtime.contributed(Pack).items():
            if not value and not owned.value.input_schema.get("required"):
                continue  # no input is a valid one
            with pytest.raises(PackError) as caught:
                deck.run(name, value)
            assert caught.value.code is PackErrorCode.INVALID_INPUT and caught.value.pack == name


def test_an_entry_that_only_the_catalog_lists_is_not_reported_as_unknown(tmp_path):
    with make_deck() as deck:
        with pytest.raises(PackError, match=r"an entry of the catalog; plans use it, and the application runs it"):
            deck.run("web.search", {})
        with pytest.raises(PackError, match=r"no installed pack has this name"):
            deck.run("blog.unknown", {})
    with (
        make_deck(config={"catalog": {"sources": [str(tmp_path / "missing.json")]}}) as deck,
        pytest.raises(PackError, match=r"no installed pack has this name"),
    ):
        deck.run("web.search", {})
