"""Plans of two to four steps over the example catalog, with a document: all steps in one raw answer, against one step at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.weak_models.session import Found, Session
from helmdeck_core import PIPELINE_RUN, CallLimits, Catalog, CompletedStep
from helmdeck_selection import read_catalog

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("data") / "plans.jsonl"
EXAMPLE = ROOT / "plugins" / "helmdeck_selection" / "catalogs" / "example_catalog.json"
ANNOUNCEMENT = ROOT / "docs" / "examples" / "announcement.txt"
MOST_STEPS = 5
OUTPUT_TOKENS = 500
INSTRUCTIONS = """\
You plan. Below is the list of all tools as JSON.

{catalog}

List the steps that do all of what the user asks for, in order. Answer in JSON and with nothing else:
{{"steps": [{{"tool": "<name of a tool>", "args": {{"<argument>": "<value>"}}}}]}}"""
_FENCE = re.compile(r"^```(?:json)?\s*\n(.*?)\n?```$", re.DOTALL)


@attrs.frozen
class PlanCase:
    """A request with its steps; each has a tool, and the arguments that the request states."""

    id: str
    request: str
    steps: Sequence[Mapping[str, Any]]

    @property
    def text(self) -> str:
        """The document and the request."""
        return f"{ANNOUNCEMENT.read_text(encoding='utf-8').strip()}\n\n{self.request}"


def load() -> list[PlanCase]:
    """Return all requests."""
    rows = map(json.loads, DATA.read_text(encoding="utf-8").splitlines())
    return [PlanCase(f"plan-{number}", row["request"], row["steps"]) for number, row in enumerate(rows, 1)]


def catalog() -> Catalog:
    """The example catalog."""
    return read_catalog(json.loads(EXAMPLE.read_text(encoding="utf-8")), "example")


Way = Callable[[PlanCase], Found]


def raw(session: Session) -> Way:
    """All tools that fit in the prompt, by name, description and inputs, and all steps in one answer."""
    tools = [
        {"name": entry.id, "description": entry.description, "input_schema": entry.input_schema}
        for entry in catalog().packs
    ]
    system = INSTRUCTIONS.format(catalog=json.dumps(tools, ensure_ascii=False))

    def plan(case: PlanCase) -> Found:
        prompt = [{"role": "system", "content": system}, {"role": "user", "content": case.text}]
        text, cause = session.chat({"messages": prompt, "max_tokens": OUTPUT_TOKENS})
        fenced = _FENCE.match(text.strip())
        try:
            steps = json.loads(fenced[1] if fenced else text)["steps"]
            found = [{"tool": str(step["tool"]), "args": dict(step.get("args") or {})} for step in steps]
        except (ValueError, KeyError, TypeError, AttributeError):
            return Found(cause=cause or "no JSON of steps", answer=text)
        return Found(value=found, answer=text)

    return plan


class Helped:
    """``deck.plan`` until the plan expects no more steps; the document is part of the request."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._deck = session.deck(catalog())

    def __call__(self, case: PlanCase) -> Found:
        """Return the steps of all plans."""
        done: list[CompletedStep] = []
        steps: list[dict[str, Any]] = []
        limits = CallLimits(deadline_s=self._session.request_s)
        while len(steps) < MOST_STEPS:
            plan = self._deck.plan(case.text, model=self._session.model_id, done=done, limits=limits)
            new = [step for step in plan.steps if not step.is_gap]
            names = [str(step.args.get("id")) if step.tool == PIPELINE_RUN else step.tool for step in new]
            steps += [{"tool": name, "args": dict(step.args)} for name, step in zip(names, new, strict=True)]
            done += [CompletedStep(name, "done") for name in names]
            if not new or not plan.more_steps_likely:
                break
        return Found(value=steps, answer=json.dumps(steps, ensure_ascii=False))

    def close(self) -> None:
        """Close the deck."""
        self._deck.close()


WAYS: Mapping[str, Callable[[Session], Any]] = {"helped": Helped, "raw": raw}


def judge(case: PlanCase, found: Found) -> dict[str, Any]:
    """Compare the steps with the expected ones: existing tools, the same tools, the same order, the stated arguments."""
    if found.value is None:
        return {"cause": found.cause or "no answer"}
    known = {entry.id for entry in catalog().entries}
    names = [step["tool"] for step in found.value]
    wanted = [step["tool"] for step in case.steps]
    is_invented = any(name not in known for name in names)
    has_tools, in_order = sorted(names) == sorted(wanted), names == wanted
    stated = [(step["tool"], key, value) for step in case.steps for key, value in step.get("args", {}).items()]
    has_arguments = all(
        any(
            step["tool"] == tool and value.casefold() in str(step["args"].get(key, "")).casefold()
            for step in found.value
        )
        for tool, key, value in stated
    )
    cause = (
        "no step" if not names else "invented tool" if is_invented else "other tools" if not has_tools
        else "other order" if not in_order else "other arguments" if not has_arguments else ""
    )  # fmt: skip
    detail = {
        "right_steps": len(set(names) & set(wanted)),
        "steps": len(wanted),
        "has_tools": has_tools,
        "in_order": in_order,
        "has_arguments": in_order and has_arguments,
    }
    return {
        "valid": bool(names) and not is_invented,
        "right": not cause,
        "invented": is_invented,
        "cause": cause,
        "detail": detail,
    }
