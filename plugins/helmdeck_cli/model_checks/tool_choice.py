"""The probe of the choice of a tool: twenty requests for one of eight tools, by the model and by the ranker alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import msgspec

from helmdeck_cli.model_checks.chooser import LOGPROBS, RANKER, proposed_chooser
from helmdeck_cli.model_checks.results import Result, Verdict
from helmdeck_cli.model_checks.session import Reply, Session
from helmdeck_cli.printing.wording import counted
from helmdeck_core import (
    CHOSEN_BY_MODEL,
    CallLimits,
    HelmdeckError,
    Likelihood,
    ResponseFormat,
)

NAME = "right tools"

CATALOG = Path(__file__).with_name("tools.json")
"""The tools, as a catalog file."""

REQUESTS = Path(__file__).with_name("tool_requests.json")

CHOICE_S = 5.0
"""Seconds of one choice: some tens of tokens to read, and a name to write."""

WRITTEN_TOKENS = 48
"""Output tokens of one choice: a name, and the twenty spaces that llama.cpp's grammars allow between two tokens of JSON."""

RESERVE_S = 2.0
"""Seconds that are left when no further request is sent."""

LEAST_COMPARED = 10
"""Answers without which the model has not shown that it can choose."""

MOST_FAILURES = 3
"""Failed requests in a row after which the probe ends."""

GOOD_SHARE, USABLE_SHARE = 0.9, 0.6
"""Shares of right tools from which the verdict is yes and partly."""


@cache
def tools() -> Mapping[str, str]:
    """Return the description of each tool by name."""
    listed = msgspec.json.decode(CATALOG.read_bytes())
    return {each["function"]["name"]: each["function"]["description"] for each in listed}


@cache
def requests() -> Mapping[str, str]:
    """Return the right tool of each request."""
    decoded: dict[str, str] = msgspec.json.decode(REQUESTS.read_bytes())
    return decoded


async def right_tools(session: Session) -> Result:
    """Right tools of the model and of the ranker, on the same requests."""
    is_held = session.facts.get("schema") == "kept"
    right, by_ranker, tried, invented, late, failed = 0, 0, 0, 0, 0, 0
    ranker_only, model_only = 0, 0
    has_likelihoods = session.left_s > RESERVE_S and await _has_likelihoods(session)
    for request, expected in requests().items():
        if session.left_s < RESERVE_S or failed >= MOST_FAILURES:
            break
        reply = await session.send(_request(session, request, is_held=is_held), CHOICE_S)
        failed = 0 if reply.response is not None else failed + 1
        if reply.is_late:
            # It says how busy the server is, and not what the model would choose.
            late += 1
            continue
        tried += 1
        name = chosen(reply, is_held=is_held)
        is_right, is_ranked = name == expected, session.rank(request) == expected
        right += is_right
        ranker_only, model_only = ranker_only + (is_ranked and not is_right), model_only + (is_right and not is_ranked)
        invented += name not in tools()
        by_ranker += is_ranked
    facts: dict[str, Any] = {
        "tool_requests": tried, "right_tools": right, "right_by_ranker": by_ranker, "invented_tools": invented,
        "ranker_only": ranker_only, "model_only": model_only, "has_likelihoods": has_likelihoods,
    }  # fmt: skip
    if not tried and not late:
        return Result(NAME, Verdict.NOT_TRIED, "no time was left")
    chooser = proposed_chooser(ranker_only=ranker_only, model_only=model_only, has_likelihoods=has_likelihoods)
    if tried < LEAST_COMPARED and chooser == CHOSEN_BY_MODEL:
        chooser = LOGPROBS if has_likelihoods else RANKER
    facts["chooser"] = chooser
    if not tried:
        return Result(NAME, Verdict.NO, f"no answer within {CHOICE_S:g} s", facts)
    share = right / tried
    verdict = Verdict.YES if share >= GOOD_SHARE else Verdict.PARTLY if share >= USABLE_SHARE else Verdict.NO
    text = f"{right} of {tried}, the ranker alone {by_ranker}"
    text += f"; {counted(invented, 'answer')} without the name of a tool" if invented else ""
    text += f"; {late} not answered within {CHOICE_S:g} s" if late else ""
    unsent = len(requests()) - tried - late
    text += f"; {unsent} not sent: the time was over" if unsent else ""
    return Result(NAME, verdict, text, facts)


async def _has_likelihoods(session: Session) -> bool:
    """Whether the server computes the likelihood of a text."""
    question = Likelihood(prompts=("The sky is", "The grass is"), text=" blue")
    request = attrs.evolve(session.request("Answer with one letter.", max_tokens=1), likelihood=question)
    session.calls += 1
    try:
        limits = CallLimits(max_attempts=1, deadline_s=CHOICE_S)
        response = await session.deck.acomplete(request, allows_empty=True, limits=limits)
    except HelmdeckError:
        return False
    return bool(response.likelihoods)


def _request(session: Session, request: str, *, is_held: bool) -> Any:
    listed = "\n".join(f"- {name}: {description}" for name, description in tools().items())
    form = "one JSON object with the key tool" if is_held else "the name of one tool, and nothing else"
    schema = {
        "type": "object",
        "properties": {"tool": {"enum": list(tools())}},
        "required": ["tool"],
        "additionalProperties": False,
    }
    return session.request(
        f"Request: {request}\nTool:",
        system=f"Choose the tool that does what the request says.\n{listed}\nAnswer with {form}.",
        max_tokens=WRITTEN_TOKENS,
        response_format=ResponseFormat(kind="json_schema", schema=schema) if is_held else None,
    )


def chosen(reply: Reply, *, is_held: bool) -> str:
    """Return the tool that an answer names; empty if it names none, or several."""
    text = reply.text
    if is_held:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return str(value.get("tool")) if isinstance(value, dict) else ""
    named = [name for name in tools() if name in text]
    return named[0] if len(named) == 1 else ""
