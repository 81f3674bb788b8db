"""Typical model responses, each with the expected value or failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers_decode import is_same
from helmdeck_core import DecodeFailed, StopReason, schema_problems
from helmdeck_reading import json_repair, refusals
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case

DECODER = Decoder(
    reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps(), refusals.helmdeck_refusal_patterns()
)
FILE = Path(__file__).parents[1] / "data" / "decode" / "cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
STOPS = {"stop": StopReason.END_TURN, "length": StopReason.MAX_TOKENS, None: None}


@each_case("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_response_is_decoded_or_fails_as_expected(case: dict[str, Any]) -> None:
    outcomes = [case["expect"], *case.get("alt", ())]
    schema = case.get("schema", {})
    kind, got = _decode(case["raw"], STOPS[case["finish_reason"]], schema)
    if kind == "failure":
        assert got in [cause for each in outcomes for cause in (each.get("cause"), *each.get("also", ()))]
    else:
        assert any(is_same(each["value"], got) for each in outcomes if each["kind"] == "value")


def _decode(raw: str, stop: StopReason | None, schema: dict[str, Any]) -> tuple[str, Any]:
    try:
        return "value", DECODER.decode(raw, dict, stop, fits=lambda value: not schema_problems(schema, value)).value
    except DecodeFailed as failed:
        return "failure", failed.cause.value


def test_case_ids_are_unique() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)
