"""The shared decode cases, if they are available.

The data are not in the repository: ``BENCH_DATA`` names the directory that holds ``decode/cases.jsonl``.
"""

from __future__ import annotations

import collections
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from helmdeck_core import DecodeFailed, StopReason
from helmdeck_reading import json_repair, refusals
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[3] / "shared" / "bench") / "decode"
DECODER = Decoder(
    reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps(), refusals.helmdeck_refusal_patterns()
)

CUT = "length max_tokens max_output_tokens maxtokens model_length"
BLOCKED = "content_filter content_filtered safety refusal prohibited_content guardrail_intervened blocklist"
STOPS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_CALL,
    **dict.fromkeys(CUT.split(), StopReason.MAX_TOKENS),
    **dict.fromkeys(BLOCKED.split(), StopReason.SAFETY_BLOCKED),
}

Verdicts = Mapping[str, "collections.Counter[str]"]


def lines(name: str) -> Iterator[dict[str, Any]]:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"no decode cases at {path}; BENCH_DATA names the directory that holds decode/{name}")
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def is_same(expected: Any, got: Any) -> bool:
    """Equal by type, numbers by value, objects without the order of their keys."""
    if isinstance(expected, dict):
        if set(expected) == {"$float"}:
            return isinstance(got, float) and not math.isfinite(got)
        return (
            isinstance(got, dict)
            and expected.keys() == got.keys()
            and all(is_same(expected[key], got[key]) for key in got)
        )
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(is_same, expected, got))
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return expected == got and isinstance(got, int | float) == isinstance(expected, int | float)


def verdict(case: dict[str, Any], *, with_schema: bool) -> str:
    required = case.get("schema", {}).get("required", []) if with_schema else []
    reason = case["finish_reason"]
    stop = STOPS.get(reason.lower(), StopReason.UNKNOWN) if reason else None
    outcomes = [case["expect"], *case.get("alt", [])]
    wants_value = case["expect"]["kind"] == "value"
    try:
        got = DECODER.decode(case["raw"], dict, stop, fits=lambda value: all(key in value for key in required)).value
    except DecodeFailed as failure:
        causes = [
            cause for out in outcomes if out["kind"] == "failure" for cause in (out["cause"], *out.get("also", []))
        ]
        return "right" if failure.cause.value in causes else "missed" if wants_value else "other_cause"
    if any(out["kind"] == "value" and is_same(out["value"], got) for out in outcomes):
        return "right"
    return "wrong"


@pytest.fixture(scope="module")
def verdicts() -> Verdicts:
    by_tier: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for case in lines("cases.jsonl"):
        by_tier[case["tier"]][verdict(case, with_schema=True)] += 1
    return by_tier


@pytest.mark.parametrize("tier", ["core", "extended", "guard", "schema"])
def test_every_case_of_the_tier_is_right(verdicts: Verdicts, tier: str) -> None:
    assert set(verdicts[tier]) == {"right"}


def test_invalid_json_is_repaired_or_rejected_and_never_misread(verdicts: Verdicts) -> None:
    assert set(verdicts["repair"]) <= {"right", "missed"}
    assert verdicts["repair"]["missed"] <= 3


def test_streams_come_out_exactly() -> None:
    wrong = []
    for case in lines("stream.jsonl"):
        stream = DECODER.stream(starts_in_reasoning=case.get("starts_in_reasoning", False))
        chunks = [stream.feed(chunk) for chunk in case["chunks"]] + [stream.finish()]
        visible, reasoning_text = ("".join(texts) for texts in zip(*chunks, strict=True))
        expected = [(out["expect_visible"], out["expect_reasoning"]) for out in (case, *case.get("alt", []))]
        if (visible, reasoning_text) not in expected:
            wrong.append(case["id"])
    assert wrong == []
