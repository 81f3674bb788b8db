"""How a pipeline runs: order, side by side, retries, limits, nesting, costs, files, and the catalog."""

import asyncio
import json

import pytest

from helmdeck_core import (
    CallLimits,
    CatalogError,
    ChatRequest,
    ChatResponse,
    HelmdeckError,
    Message,
    PackError,
    Pipeline,
    RateLimited,
    Role,
    StopReason,
    TextPart,
    Usage,
)
from helmdeck_core.packs import runner
from helmdeck_runs import RunState, runs_of
from helmdeck_testing import make_deck, plugin_with
from tests.helmdeck_runs.pipelines_support import CHAIN, NUMBER, PACKS, TEXT, deck_of, pack_of


def steps_of(deck, run_id):
    record = deck._portal.run(runs_of(deck).record(run_id))
    return {step.id: step for step in record.steps}


def test_a_pipeline_runs_by_its_id_and_by_the_tool_of_plans():
    with deck_of({"p": CHAIN}) as deck:
        for result in (deck.run("p", {"x": 3}), deck.run("helmdeck__pipeline-run", {"id": "p", "inputs": {"x": 3}})):
            assert result["outputs"] == {"text": "SUM: 7", "sum": 7}
            assert "coalesced" not in result


def test_without_declared_outputs_the_outputs_of_all_steps_are_returned():
    with deck_of({"p": {**CHAIN, "outputs": {}}}) as deck:
        assert deck.run("p", {"x": 3})["outputs"]["last"] == {"text": "SUM: 7"}


def test_steps_may_be_declared_in_the_metadata_of_an_entry():
    data = {
        "description": "As in the example catalog.",
        "metadata": {k: CHAIN[k] for k in ("steps", "inputs", "outputs")},
    }
    with deck_of({"p": data}) as deck:
        assert deck.run("p", {"x": 1})["outputs"]["sum"] == 5


def test_pipelines_are_read_from_files_and_from_a_folder(tmp_path):
    (tmp_path / "one.toml").write_text(
        '[[pipelines]]\nid = "one"\nsteps = [{ id = "s", pack = "test.shout", with = { text = "{{inputs.t}}" } }]\n'
        'outputs = { text = "{{steps.s.text}}" }\n[pipelines.inputs.t]\ntype = "string"\ndefault = "hi"\n'
    )
    folder = tmp_path / "more"
    folder.mkdir()
    two = {"id": "two", "steps": [{"id": "s", "pack": "test.shout", "with": {"text": "b"}}]}
    (folder / "two.json").write_text(json.dumps({"pipelines": [two]}))
    (folder / "notes.txt").write_text("not a catalog")
    (tmp_path / "helmdeck.toml").write_text('[pipelines]\nfiles = ["one.toml"]\nfolder = "more"\n')
    with make_deck(plugin_with(helmdeck_packs=PACKS), file=tmp_path / "helmdeck.toml") as deck:
        assert deck.run("one", {})["outputs"] == {"text": "HI"}
        assert deck.run("two", {})["outputs"] == {"s": {"text": "B"}}
    (folder / "two.json").write_text("{")
    with make_deck(file=tmp_path / "helmdeck.toml") as deck, pytest.raises(CatalogError, match=r"two\.json"):
        deck.catalog.get("two")
    (tmp_path / "helmdeck.toml").write_text('[pipelines]\nfolder = "missing"\n')
    with (
        make_deck(file=tmp_path / "helmdeck.toml") as deck,
        pytest.raises(CatalogError, match=r"missing.*cannot be read"),
    ):
        deck.catalog.get("two")


def test_independent_steps_run_side_by_side_up_to_the_limit():
    running, most, met = 0, 0, asyncio.Event()

    async def meet(_, arguments):
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            met.set()
        await met.wait()
        await asyncio.sleep(0)
        running -= 1
        return {"n": arguments["n"]}

    steps = [{"id": f"s{n}", "pack": "test.meet", "with": {"n": n}} for n in range(6)]
    steps.append({"id": "end", "pack": "test.shout", "with": {"text": "{{steps.s0.n}}{{steps.s5.n}}"}})
    data = {"steps": steps, "limits": {"max_parallel": 2}, "outputs": {"text": "{{steps.end.text}}"}}
    with deck_of({"p": data}, pack_of("test.meet", meet, {"n": NUMBER})) as deck:
        assert deck.run("p", {})["outputs"] == {"text": "05"}
    assert most == 2


def test_needs_orders_steps_that_do_not_refer_to_each_other():
    order = []

    async def note(_, arguments):
        order.append(arguments["n"])
        return {}

    steps = [
        {"id": f"s{n}", "pack": "test.note", "with": {"n": n}, "needs": [f"s{n - 1}"] if n else []} for n in range(5)
    ]
    with deck_of({"p": {"steps": steps}}, pack_of("test.note", note, {"n": NUMBER})) as deck:
        deck.run("p", {})
    assert order == [0, 1, 2, 3, 4]


class Failing:
    """A pack that raises errors first, then returns its number of attempts."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.attempts = 0

    async def run(self, _, arguments):
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        return {"attempts": self.attempts}


def failing_pipeline(**step):
    return {"steps": [{"id": "s", "pack": "test.failing", "with": {}, **step}]}


@pytest.mark.parametrize(
    ("errors", "retry", "attempts"),
    [
        ([RateLimited("busy")] * 2, {"attempts": 3, "wait_s": 0.001}, 3),
        ([RateLimited("busy")], {"on": ["rate_limited"], "wait_s": 0.001}, 2),
        ([ValueError("bug")], {"on": ["handler_failed"], "wait_s": 0.001}, 2),
    ],
)
def test_a_step_is_tried_again_by_cause(errors, retry, attempts):
    failing = Failing(*errors)
    with deck_of({"p": failing_pipeline(retry=retry)}, pack_of("test.failing", failing.run)) as deck:
        result = deck.run("p", {})
        assert result["outputs"]["s"] == {"attempts": attempts}
        assert steps_of(deck, result["run_id"])["s"].result["attempts"] == attempts


@pytest.mark.parametrize(
    ("error", "retry", "kind", "cause"),
    [
        (RateLimited("busy"), {}, RateLimited, "rate_limited"),
        (ValueError("bug"), {"attempts": 3, "wait_s": 0.001}, PackError, "handler_failed"),
        (RateLimited("busy"), {"on": ["timeout"], "wait_s": 0.001}, RateLimited, "rate_limited"),
    ],
)
def test_a_failed_step_ends_the_run_with_its_cause(error, retry, kind, cause):
    failing = Failing(error, error, error)
    with deck_of({"p": failing_pipeline(retry=retry)}, pack_of("test.failing", failing.run)) as deck:
        with pytest.raises(kind, match="step 's'.*helmdeck pipeline resume"):
            deck.run("p", {})
        (record,) = deck._portal.run(runs_of(deck).records())
        step = steps_of(deck, record.run.id)["s"]
    assert failing.attempts == 1
    assert record.state is RunState.FAILED
    assert record.failure["cause"] == step.failure["cause"] == cause
    assert record.failure["step"] == "s"
    assert step.failure["attempts"] == 1
    assert len(step.failure["input_sha"]) == 16


async def wait_forever(_, arguments):
    await asyncio.Event().wait()


@pytest.mark.parametrize("data", [{"step": {"timeout_s": 0.01}}, {"limits": {"timeout_s": 0.01}}])
def test_a_step_is_cancelled_at_the_time_limit_of_the_step_or_of_the_pipeline(data, monkeypatch):
    monkeypatch.setattr(runner, "GRACE_S", 0.0)
    pipeline = {**failing_pipeline(**data.get("step", {})), "limits": data.get("limits", {})}
    with deck_of({"p": pipeline}, pack_of("test.failing", wait_forever)) as deck:
        with pytest.raises(PackError) as caught:
            deck.run("p", {})
        assert caught.value.code == "timeout"


def test_a_step_is_not_tried_again_if_the_time_limit_ends_before_its_wait():
    failing = Failing(RateLimited("busy"))
    data = {**failing_pipeline(retry={"wait_s": 3_600}), "limits": {"timeout_s": 60}}
    with (
        deck_of({"p": data}, pack_of("test.failing", failing.run)) as deck,
        pytest.raises(RateLimited, match="not tried again: the time limit of the pipeline, 60 s, ends before the wait"),
    ):
        deck.run("p", {})
    assert failing.attempts == 1


def test_attempts_of_a_step_share_the_cost_limit(answering):
    left = []

    async def ask(context, arguments):
        left.append(context.limits.max_cost_usd)
        await context.complete(ChatRequest(model="fake/m", messages=(Message(Role.USER, (TextPart("hi"),)),)))
        raise RateLimited("busy")

    steps = [{"id": "s", "pack": "test.ask", "with": {}, "retry": {"attempts": 5, "wait_s": 0.001}}]
    data = {"steps": steps, "limits": {"max_cost_usd": 3.5}}
    plugin = plugin_with(helmdeck_packs=[pack_of("test.ask", ask)], helmdeck_pipelines=[Pipeline(name="p", data=data)])
    usage = Usage(input_tokens=1, output_tokens=2)
    reply = ChatResponse(text="hello", stop_reason=StopReason.END_TURN, raw_stop_reason="stop", usage=usage)
    budgets = {"fake/m": {"input_cost_usd_per_mtok": 0.0, "output_cost_usd_per_mtok": 1e6}}
    deck, _ = answering(reply, beside=(plugin,), config={"budgets": budgets})
    with (
        deck,
        pytest.raises(RateLimited, match="not tried again: the cost limit of the pipeline, 3.5 US dollars, is used up"),
    ):
        deck.run("p", {})
    assert left == [3.5, 1.5]


def test_no_step_starts_after_the_cost_limit_and_costs_are_recorded(answering):
    async def ask(context, arguments):
        request = ChatRequest(model="fake/m", messages=(Message(Role.USER, (TextPart("hi"),)),))
        return {"text": (await context.complete(request)).text}

    steps = [{"id": f"s{n}", "pack": "test.ask", "with": {}, "needs": [f"s{n - 1}"] if n else []} for n in range(3)]
    budgets = {"fake/m": {"input_cost_usd_per_mtok": 0.0, "output_cost_usd_per_mtok": 1e6}}
    plugin = plugin_with(
        helmdeck_packs=[pack_of("test.ask", ask)],
        helmdeck_pipelines=[
            Pipeline(name="dear", data={"steps": steps, "limits": {"max_cost_usd": 3.5}}),
            Pipeline(name="free", data={"steps": steps}),
        ],
    )
    reply = ChatResponse(
        text="hello",
        stop_reason=StopReason.END_TURN,
        raw_stop_reason="stop",
        usage=Usage(input_tokens=1, output_tokens=2),
    )
    deck, _ = answering(reply, beside=(plugin,), config={"budgets": budgets})
    with deck:
        result = deck.run("free", {})
        assert [step.result["cost_usd"] for step in steps_of(deck, result["run_id"]).values()] == [2.0, 2.0, 2.0]
        with pytest.raises(HelmdeckError, match=r"step 's2'.*cost limit of the pipeline, 3\.5 US dollars, is used up"):
            deck.run("dear", {})


def test_findings_of_a_failed_pack_are_recorded_with_its_step_and_returned():
    async def check(_, arguments):
        raise PackError("test.check", "handler_failed", "2 problems", {"findings": ["no title", "x" * 2_000]})

    steps = [{"id": "s", "pack": "test.check", "with": {}}]
    with deck_of({"p": {"steps": steps}}, pack_of("test.check", check)) as deck:
        with pytest.raises(PackError, match="2 problems") as caught:
            deck.run("p", {})
        (record,) = deck._portal.run(runs_of(deck).records())
        step = steps_of(deck, record.run.id)["s"]
    assert caught.value.output["findings"] == step.failure["findings"] == ["no title", "x" * 1_000]


def test_cost_limit_of_the_caller_bounds_the_steps_of_a_pipeline_and_of_pipelines_in_it(answering):
    left = []

    async def ask(context, arguments):
        left.append(context.limits.max_cost_usd)
        request = ChatRequest(model="fake/m", messages=(Message(Role.USER, (TextPart("hi"),)),))
        return {"text": (await context.complete(request)).text}

    steps = [{"id": f"s{n}", "pack": "test.ask", "with": {}, "needs": [f"s{n - 1}"] if n else []} for n in range(2)]
    nested = [{"id": "a", "pack": "free", "with": {}}, {"id": "b", "pack": "free", "with": {}, "needs": ["a"]}]
    plugin = plugin_with(
        helmdeck_packs=[pack_of("test.ask", ask)],
        helmdeck_pipelines=[
            Pipeline(name="free", data={"steps": steps}),
            Pipeline(name="outer", data={"steps": nested, "limits": {"max_cost_usd": 100.0}}),
        ],
    )
    usage = Usage(input_tokens=1, output_tokens=2)
    reply = ChatResponse(text="hello", stop_reason=StopReason.END_TURN, raw_stop_reason="stop", usage=usage)
    budgets = {"fake/m": {"input_cost_usd_per_mtok": 0.0, "output_cost_usd_per_mtok": 1e6}}
    deck, _ = answering(reply, beside=(plugin,), config={"budgets": budgets})
    with deck:
        with pytest.raises(HelmdeckError, match=r"step 's1'.*cost limit of the caller, 1\.5 US dollars, is used up"):
            deck.run("free", {}, limits=CallLimits(max_cost_usd=1.5))
        assert left == [1.5]
        deck.run("free", {}, limits=CallLimits(max_cost_usd=9.0))
        assert left[1:] == [9.0, 7.0]
        with pytest.raises(HelmdeckError, match=r"step 'b'.*cost limit of the caller, 3 US dollars, is used up"):
            deck.run("outer", {}, limits=CallLimits(max_cost_usd=3.0))
        assert left[3:] == [3.0, 1.0]


def test_a_pipeline_runs_another_one_as_a_step():
    outer = {
        "steps": [
            {"id": "inner", "pack": "p", "with": {"x": "{{inputs.y}}"}},
            {"id": "tool", "pack": "helmdeck__pipeline-run", "with": {"id": "p", "inputs": {"x": 1}}},
            {
                "id": "end",
                "pack": "test.shout",
                "with": {"text": "{{steps.inner.outputs.sum}} {{steps.tool.outputs.sum}}"},
            },
        ],
        "inputs": {"y": NUMBER},
        "outputs": {"text": "{{steps.end.text}}"},
    }
    with deck_of({"p": CHAIN, "outer": outer}) as deck:
        assert deck.run("outer", {"y": 10})["outputs"] == {"text": "14 5"}


def test_an_optional_input_that_is_missing_leaves_out_the_argument():
    seen = []

    async def note(_, arguments):
        seen.append(dict(arguments))
        return {}

    data = {
        "steps": [{"id": "s", "pack": "test.note", "with": {"text": "{{inputs.a}}", "more": "{{inputs.b}}"}}],
        "inputs": {"a": {**TEXT, "default": "x"}, "b": {**TEXT, "optional": True}},
    }
    with deck_of({"p": data}, pack_of("test.note", note, {"text": TEXT, "more": TEXT})) as deck:
        deck.run("p", {})
        deck.run("p", {"b": "y"})
    assert seen == [{"text": "x"}, {"text": "x", "more": "y"}]


def test_declared_outputs_without_a_value_are_left_out():
    data = {
        **CHAIN,
        "inputs": {**CHAIN["inputs"], "note": {**TEXT, "optional": True}},
        "outputs": {"note": "{{inputs.note}}"},
    }
    with deck_of({"p": data}) as deck:
        assert deck.run("p", {"x": 1})["outputs"] == {}
        assert deck.run("p", {"x": 1, "note": "y"})["outputs"] == {"note": "y"}


def test_a_pipeline_that_runs_itself_by_an_input_fails():
    run = {"id": "s", "pack": "helmdeck__pipeline-run", "with": {"id": "{{inputs.id}}", "inputs": {"id": "p"}}}
    data = {"steps": [run], "inputs": {"id": TEXT}}
    with (
        deck_of({"p": data, "q": data}) as deck,
        pytest.raises(PackError, match="the pipeline runs itself: p -> q -> p"),
    ):
        deck.run("p", {"id": "q"})


def test_a_missing_output_of_a_step_fails_the_step_that_needs_it():
    data = {"steps": [{"id": "a", "pack": "test.add", "with": {"a": 1, "b": 2}},
                      {"id": "b", "pack": "test.shout", "with": {"text": "{{steps.a.total}}"}}]}  # fmt: skip
    with deck_of({"p": data}) as deck, pytest.raises(PackError, match=r"step 'b'.*steps\.a has no 'total'"):
        deck.run("p", {})


def test_entries_of_the_example_catalog_that_have_no_pack_here_say_what_is_missing():
    with deck_of({}) as deck, pytest.raises(PackError) as caught:
        deck.run("research-to-blog", {"topic": "bees"})
    assert "step 'search'" in str(caught.value)


def test_an_unknown_pipeline_lists_the_known_ones():
    with deck_of({"p": CHAIN}) as deck, pytest.raises(PackError, match=r"\(did you mean 'p'\?\); .* and 18 more"):
        deck.run("helmdeck__pipeline-run", {"id": "pp"})


def test_a_deck_without_the_plugin_does_not_run_pipelines():
    plugin = plugin_with(helmdeck_packs=PACKS, helmdeck_pipelines=[Pipeline(name="p", data=CHAIN)])
    deck = make_deck(plugin, config={"plugins": {"disable": ["pipelines"]}})
    with deck, pytest.raises(PackError, match="the application runs it"):
        deck.run("p", {"x": 1})
