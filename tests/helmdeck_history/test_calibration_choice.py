"""What calibration concludes about a model that cannot choose tools, and about one that returns nothing usable."""

import asyncio
import datetime
import json

import pytest

from helmdeck_cli import proposed_chooser
from helmdeck_core import CallLimits, ChatResponse, Likelihood, ProviderSpec, StopReason
from helmdeck_history.calibration import probes, report
from helmdeck_history.calibration.search import SizeCounts
from helmdeck_history.calibration.session import Outcome
from helmdeck_testing import StubProvider, make_deck, plugin_with
from tests.case_support import each_case

DAY = datetime.date(2026, 11, 24)


def outcome_of(*, counts, claimed=None, **results):
    return Outcome(
        model="a/m", claimed=claimed, counts=counts, probes=results, calls=9, cost_usd=None, median_latency_s=1.0
    )


def row_of(**facts):
    return report.budget_row(outcome_of(**facts), "a/m", DAY)


NO_SUCCESS = (SizeCounts(2_048, 3, 0, {"wrong_tool": 3}),)
JSON_FAILED = {"trials": 3, "constrained": 0, "plain": 0, "is_downgraded": False}


def test_size_without_a_right_plan_is_no_budget():
    row = row_of(counts=NO_SUCCESS, strict_json=JSON_FAILED)
    assert "max_catalog_bytes" not in row
    assert "wants_strict_json" not in row
    assert "unusable for structured work: none of 3 plans was right" in row["evidence"]


def test_size_that_did_not_pass_leaves_half_of_it_where_some_plans_were_right():
    row = row_of(counts=(SizeCounts(2_048, 4, 2, {"wrong_tool": 2}),), strict_json={**JSON_FAILED, "constrained": 2})
    assert row["max_catalog_bytes"] == 1_024
    assert row["wants_strict_json"]


CHOICE = {"tool_requests": 20, "right_tools": 4, "right_by_ranker": 16, "ranker_only": 13, "model_only": 1}


def test_model_that_chooses_worse_than_the_ranker_gets_a_chooser():
    row = row_of(counts=NO_SUCCESS, choice={**CHOICE, "has_likelihoods": False})
    assert row["chooser"] == "ranker"
    assert "4 of 20 tools right, the ranker 16: worth its time for text, not for choosing" in row["evidence"]


def test_server_with_likelihoods_makes_them_the_choice():
    assert row_of(counts=NO_SUCCESS, choice={**CHOICE, "has_likelihoods": True})["chooser"] == "logprobs"


@each_case(
    ("counts", "claimed", "facts", "texts"),
    [
        (
            NO_SUCCESS,
            None,
            {"has_likelihoods": True},
            ("no size passed: of 3 plans", "2,048 bytes, 0 were", "makes 'logprobs' choose"),
        ),
        (
            (SizeCounts(4_096, 18, 18, {}),),
            4_096,
            {"has_likelihoods": False},
            ("up to 4,096 bytes", "makes 'ranker' choose"),
        ),
        (NO_SUCCESS, None, {"tool_requests": 0}, ("use another model for plans",)),
    ],
)
def test_conclusion_says_what_the_sizes_mean_and_what_chooses(counts, claimed, facts, texts):
    text = report.conclusion(outcome_of(counts=counts, claimed=claimed, choice={**CHOICE, **facts}))
    assert all(each in text for each in texts)


def test_model_keeps_choosing_where_nothing_was_measured():
    assert "chooser" not in row_of(counts=NO_SUCCESS)
    assert "chooser" not in row_of(counts=NO_SUCCESS, choice={"has_likelihoods": True})


@each_case(
    ("ranker_only", "model_only", "chooser"),
    [(0, 0, "model"), (1, 0, "model"), (3, 1, "ranker"), (2, 5, "model"), (0, 12, "model"), (9, 2, "ranker")],
)
def test_model_chooses_only_if_it_is_no_more_than_one_request_behind_the_ranker(ranker_only, model_only, chooser):
    assert proposed_chooser(ranker_only=ranker_only, model_only=model_only, has_likelihoods=False) == chooser


class Chooses(StubProvider):
    """Names one tool whatever is requested."""

    def __init__(self, *, has_likelihoods):
        super().__init__()
        self.has_likelihoods = has_likelihoods

    async def complete(self, request):
        self.requests.append(request)
        likely = request.likelihood if self.has_likelihoods else None
        text = "" if likely else json.dumps({"tool": "image.draw"})
        values = (-1.0, -2.0) if isinstance(likely, Likelihood) else ()
        return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop", likelihoods=values)


@pytest.mark.parametrize("has_likelihoods", [True, False])
def test_probe_compares_the_model_with_the_ranker_and_tries_likelihoods(has_likelihoods):
    model = Chooses(has_likelihoods=has_likelihoods)
    plugin = plugin_with(helmdeck_providers=[ProviderSpec(name="a", open=lambda *_: model)])

    async def run():
        async with make_deck(plugin) as deck:
            return await probes.choice(deck, "a/m", CallLimits(deadline_s=60.0))

    facts, _ = asyncio.run(run())
    assert facts["tool_requests"] == 20
    assert 0 < facts["right_tools"] < facts["right_by_ranker"]
    assert facts["ranker_only"] - facts["model_only"] == facts["right_by_ranker"] - facts["right_tools"]
    assert facts["has_likelihoods"] is has_likelihoods
    assert len(model.requests) <= next(each.calls for each in probes.PROBES if each.name == "choice")
