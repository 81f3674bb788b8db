"""An example day: the calls of four teams with five models, one of which is overloaded in the afternoon. Made from a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from helmdeck_core import CallTrace

DAY_S: Final = 86_400.0
LENGTH_S: Final = 7 * DAY_S
"""A week, so that each period of the console shows something."""


@attrs.frozen(kw_only=True)
class ExampleModel:
    """A model of the example.

    :ivar failures: the causes of its failed attempts with their shares, and the sub-cause, stop reason and HTTP status of each.
    :ivar prices: US dollars per million tokens in and out; ``None`` for a model without a known price.
    :ivar mean_s: mean seconds of an attempt.
    """

    name: str
    tier: str
    weight: float
    failures: Mapping[str, tuple[float, str, str, int | None]]
    prices: tuple[float, float] | None
    mean_s: float
    max_catalog_bytes: int | None
    variant: str
    served: str = ""


MODELS: Final = (
    ExampleModel(
        name="anthropic/claude-sonnet-4-5", tier="A", weight=3.2, prices=(3.0, 15.0), mean_s=4.2, max_catalog_bytes=None,
        variant="plan-frontier", failures={"quota_exhausted": (0.006, "", "", 402), "rate_limited": (0.015, "", "", 429), "length_truncated": (0.008, "", "max_tokens", None)},
    ),
    ExampleModel(
        name="openai/gpt-5-mini", tier="A", weight=3.4, prices=(0.25, 2.0), mean_s=2.6, max_catalog_bytes=None,
        variant="plan-frontier", served="gpt-5-mini-2025-08-07",
        failures={"constrained_deadlock": (0.012, "no_json", "stop", None), "likely_timeout": (0.006, "first_token", "", None)},
    ),
    ExampleModel(
        name="mistral/mistral-small-latest", tier="B", weight=2.2, prices=(0.1, 0.3), mean_s=1.8, max_catalog_bytes=22_000,
        variant="plan-compact",
        failures={"length_truncated": (0.03, "", "length", None), "constrained_deadlock": (0.04, "schema", "stop", None)},
    ),
    ExampleModel(
        name="workshop/qwen3-8b", tier="C", weight=2.6, prices=None, mean_s=6.5, max_catalog_bytes=10_000, variant="plan-small",
        failures={
            "constrained_deadlock": (0.09, "empty", "stop", None), "length_truncated": (0.05, "reasoning", "length", None),
            "provider_unavailable": (0.012, "", "", 503),
        },
    ),
    ExampleModel(
        name="google/gemini-2.5-flash", tier="A", weight=1.6, prices=(0.3, 2.5), mean_s=2.1, max_catalog_bytes=None,
        variant="plan-frontier", failures={"safety_filtered": (0.03, "", "SAFETY", None), "rate_limited": (0.02, "", "", 429)},
    ),
)  # fmt: skip
TEAMS: Final = {
    "search": ("search-prod", "search-batch"),
    "support": ("helpdesk",),
    "research": ("notebooks", "eval-runner"),
    "": ("ci",),
}
TAGS: Final = ("helmdeck.plan", "helmdeck.route", "blog.rewrite_for_audience", "slides.outline", "")
FALLBACK: Final = {
    "workshop/qwen3-8b": "mistral/mistral-small-latest", "mistral/mistral-small-latest": "openai/gpt-5-mini",
    "anthropic/claude-sonnet-4-5": "openai/gpt-5-mini", "google/gemini-2.5-flash": "openai/gpt-5-mini",
    "openai/gpt-5-mini": "anthropic/claude-sonnet-4-5",
}  # fmt: skip
STEPS: Final = (
    ("pack.intent_keywords[]", 0.93), ("pack.limitations[]", 0.88), ("pipeline.steps[].body", 0.80),
    ("description.firstSentence", 0.69), ("pack.input_schema", 0.58),
)  # fmt: skip
"""Trim steps, and the share of the catalog that is left after each."""
STOPS: Final = ("safety_filtered", "quota_exhausted")
"""Causes that another attempt would not repair."""

BY_NAME: Final = {model.name: model for model in MODELS}
OUTAGE: Final = (0.20, 0.28)
"""When the workshop's server is overloaded, as shares of a day before now."""


def example_traces(
    now_s: float, count: int = 3_000, *, seed: int = 7, length_s: float = LENGTH_S
) -> Iterator[CallTrace]:
    """Yield the calls of the time before now, oldest first.

    :param count: number of calls; half of them are of the last day.
    :param length_s: seconds of the example.

    >>> from helmdeck_console import example_traces
    >>> [trace.outcome for trace in example_traces(1_700_000_000.0, 3)]
    ['answered', 'answered', 'answered']
    """
    random_ = random.Random(seed)  # noqa: S311 - an example
    ages = sorted((_age(random_, index % 2 == 0, length_s) for index in range(count)), reverse=True)
    for age_s in ages:
        yield example_trace(random_, now_s, age_s)


def _age(random_: random.Random, is_recent: bool, length_s: float) -> float:
    """Seconds before now, with more calls in the daytime."""
    while True:
        age_s = random_.uniform(20, DAY_S if is_recent and length_s > DAY_S else length_s)
        hours = age_s / 3_600 % 24
        if random_.random() < 0.25 + 0.75 * math.exp(-((min(hours, 24 - hours) / 7) ** 2)):
            return age_s


def example_trace(random_: random.Random, now_s: float, age_s: float) -> CallTrace:
    """Return one call that ended some seconds before now."""
    team = random_.choices(list(TEAMS), (5, 3, 3, 1))[0]
    place: dict[str, Any] = {"attempt": 1}
    model = random_.choices(MODELS, [each.weight for each in MODELS])[0]
    requested, tag = model.name, random_.choices(TAGS, (5, 2, 1, 1, 3))[0]
    is_down = OUTAGE[0] < age_s / DAY_S < OUTAGE[1]
    events: list[dict[str, Any]] = [
        {"event": "call_started", "at_s": 0.0, "model": requested, **place},
        {"event": "request_received", "at_s": 0.0, "key": random_.choice(TEAMS[team]), "team": team, **place},
    ]
    at_s, outcome = 0.002, ""
    is_aborted = random_.random() < 0.006
    for attempt in range(1, 4):
        place["attempt"] = attempt
        cause, facts = _failure(random_, model, is_down)
        at_s = _attempt(
            random_,
            events,
            model,
            place,
            at_s,
            cause,
            facts,
            has_catalog=bool(tag),
            is_last=attempt == 3 or cause in STOPS,
        )
        if not cause or is_aborted:
            outcome = "aborted" if is_aborted else "answered"
            break
        outcome = cause
        if cause in STOPS:
            break
        model = (
            BY_NAME[FALLBACK[model.name]]
            if cause in ("provider_unavailable", "rate_limited") or attempt == 2
            else model
        )
    events.append(_end(outcome, at_s, model, place))
    return CallTrace(
        call_id=random_.randbytes(8).hex(), time=now_s - age_s - at_s, pack=tag, caller=team or "ci", model=requested,
        outcome=outcome, events=tuple(events),
    )  # fmt: skip


def _failure(random_: random.Random, model: ExampleModel, is_down: bool) -> tuple[str, tuple[str, str, int | None]]:
    if is_down and model.name.startswith("workshop/") and random_.random() < 0.7:
        return "provider_unavailable", ("overloaded", "", 503)
    draw = random_.random()
    for cause, (share, *facts) in model.failures.items():
        draw -= share
        if draw < 0:
            sub_cause, stop, status = facts
            return cause, (str(sub_cause), str(stop), status if isinstance(status, int) else None)
    return "", ("", "end_turn" if model.tier == "A" else "stop", None)


def _attempt(
    random_: random.Random,
    events: list[dict[str, Any]],
    model: ExampleModel,
    place: Mapping[str, Any],
    at_s: float,
    cause: str,
    facts: tuple[str, str, int | None],
    *,
    has_catalog: bool,
    is_last: bool,
) -> float:
    """Add the events of an attempt; return when it ended."""
    sub_cause, stop, status = facts
    waited_s = 0.0 if place["attempt"] == 1 else round(random_.uniform(0.2, 1.2), 2)
    at_s += waited_s
    before = random_.choice((48_213, 131_904, 20_440))
    if has_catalog:
        after = (
            before
            if model.max_catalog_bytes is None
            else min(before, int(model.max_catalog_bytes * random_.uniform(0.8, 1)))
        )
        is_whole = after == before
        steps = (
            []
            if is_whole
            else [{"step": name, "after_bytes": int(before * left), "entries": 64} for name, left in STEPS]
        )
        steps += [] if is_whole else [{"step": "lexical.top_n", "after_bytes": after, "entries": 24}]
        record = {
            "before_bytes": before,
            "after_bytes": after,
            "dropped": [] if is_whole else ["lexical.top_n"],
            "kept_entries": 64 if is_whole else 24,
            "left_out": 0 if is_whole else 40,
            "steps": steps,
        }
        selected = {
            "event": "catalog_selected",
            "at_s": at_s,
            "model": model.name,
            "tier": model.tier,
            "record": record,
            "confidence": round(random_.uniform(0.3, 0.95), 2),
        }
        events.append({**selected, **place})
    changed = ["output limit x2"] if cause == "length_truncated" and place["attempt"] > 1 else []
    events.append(
        {
            "event": "request_sent", "at_s": at_s, "model": model.name, "tier": model.tier,
            "variant": model.variant if has_catalog else "", "input_tokens": 200_000 if model.tier == "A" else 32_000,
            "max_tokens": 2_000, "max_catalog_bytes": model.max_catalog_bytes, "temperature": 0.0,
            "response_format": "json_schema" if model.tier == "B" else "", "changed": changed, "waited_s": waited_s, **place,
        }
    )  # fmt: skip
    took_s = random_.lognormvariate(math.log(model.mean_s), 0.5) if status is None else random_.uniform(0.05, 0.6)
    if not cause and not has_catalog:
        events.append({"event": "stream_started", "at_s": at_s + took_s * 0.2, "first_chunk_s": took_s * 0.2, **place})
    usage: dict[str, int] = {}
    cost: float | None = None
    if status is None:
        size = (model.max_catalog_bytes or before) // 4
        usage = {
            "input_tokens": int(size * random_.uniform(0.7, 1.1)) + 400,
            "output_tokens": int(random_.uniform(60, 900)),
        }
        if model.tier == "A" and random_.random() < 0.6:
            usage["cached_input_tokens"] = usage["input_tokens"] * 3 // 4
        if model.prices is not None:
            cost = (usage["input_tokens"] * model.prices[0] + usage["output_tokens"] * model.prices[1]) / 1e6
        stop_event = {
            "event": "stop_reason_observed",
            "at_s": at_s + took_s,
            "model": model.name,
            "provider": model.name.partition("/")[0],
            "stop_reason": "length" if cause == "length_truncated" else "end_turn",
            "raw_stop_reason": stop,
            "iteration": 1,
        }
        events.append({**stop_event, **place})
    at_s += took_s
    if not cause and model.tier == "C" and random_.random() < 0.15:
        events.append(
            {"event": "reasoning_stripped", "at_s": at_s, "model": model.name, "chars": 1_834, "tokens": 420, **place}
        )
    if not cause and random_.random() < 0.04:
        events.append(
            {
                "event": "continuation_attempt",
                "at_s": at_s,
                "model": model.name,
                "attempt_index": 1,
                "output_tokens": 2_000,
                "output_chars": 7_412,
                "remaining_tokens": 6_000,
                "remaining_chars": 24_000,
                "is_native": model.tier == "A",
                **place,
            }
        )
        at_s += took_s * 0.4
        events.append(
            {
                "event": "continuation_terminated",
                "at_s": at_s,
                "model": model.name,
                "terminal_reason": "complete",
                "attempts": 1,
                "repairs": 0,
                "dropped": 36,
                "latency_s": took_s * 0.4,
                **place,
            }
        )
    following = BY_NAME[FALLBACK[model.name]].name
    then = (
        "answered"
        if not cause
        else "stopped: attempts"
        if is_last
        else f"next model {following}"
        if cause in ("provider_unavailable", "rate_limited")
        else "again"
    )
    result: dict[str, Any] = {
        "number": place["attempt"],
        "model": model.name,
        "latency_s": round(took_s, 3),
        "then": then,
        "is_sent": True,
    }
    if usage:
        result["usage"] = usage
    more = {
        "cause": cause,
        "sub_cause": sub_cause,
        "status": status,
        "cost_usd": cost,
        "served_model": model.served if not cause else "",
        "raw_stop_reason": stop or None,
    }
    result |= {name: value for name, value in more.items() if value not in ("", None)}
    if cause and is_last:
        result["reason"] = "all attempts are used"
    events.append({"event": "attempt_ended", "at_s": round(at_s, 4), "outcome": result, **place})
    return at_s


def _end(outcome: str, at_s: float, model: ExampleModel, place: Mapping[str, Any]) -> dict[str, Any]:
    end = {"at_s": round(at_s, 4), "model": model.name, **place}
    if outcome == "answered":
        return {
            "event": "call_finished",
            "served_model": model.served or model.name,
            "total_s": at_s,
            "latency_s": at_s,
            **end,
        }
    if outcome == "aborted":
        return {"event": "call_aborted", "error": "CancelledError", "latency_s": at_s, **end}
    return {"event": "call_exhausted", "cause": outcome, "latency_s": at_s, "reason": "all attempts are used", **end}
