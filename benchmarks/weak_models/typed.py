"""Typed answers: five schemas, and texts that contain their values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.weak_models.peer_process import PeerProcess
from benchmarks.weak_models.session import Found, Session, cause_of
from helmdeck_core import CallLimits, find_problems

DATA = Path(__file__).with_name("data") / "typed.jsonl"
OUTPUT_TOKENS = 300
PROMPT = "Read the text and return its data in JSON, by this JSON Schema. Answer with the JSON object and nothing else.\n\n{schema}\n\nText:\n{text}"
QUESTION = "Return the data of this text.\n\n{text}"
_FENCE = re.compile(r"^```(?:json)?\s*\n(.*?)\n?```$", re.DOTALL)


def _object(title: str, /, **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT, _NUMBER, _WHOLE, _OPTIONAL = (
    {"type": "string"},
    {"type": "number"},
    {"type": "integer"},
    {"type": ["string", "null"]},
)
_ITEM = _object("Item", name=_TEXT, quantity=_WHOLE)
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "invoice": _object("Invoice", number=_TEXT, vendor=_TEXT, total=_NUMBER, currency=_TEXT),
    "event": _object("Event", title=_TEXT, date=_TEXT, place=_TEXT),
    "contact": _object("Contact", name=_TEXT, email=_OPTIONAL, phone=_OPTIONAL),
    "ticket": _object(
        "Ticket",
        id=_TEXT,
        component=_TEXT,
        severity={"enum": ["low", "medium", "high", "critical"]},
        is_reproducible={"type": "boolean"},
    ),
    "order": _object("Order", customer=_TEXT, items={"type": "array", "items": _ITEM}),
}
"""The schemas of the five kinds; ``order`` is the nested list."""


@attrs.frozen
class TypedCase:
    """A text with the value that it contains."""

    id: str
    kind: str
    text: str
    expected: Mapping[str, Any]

    @property
    def schema(self) -> Mapping[str, Any]:
        """The schema of the answer."""
        return SCHEMAS[self.kind]


def load() -> list[TypedCase]:
    """Return all texts, the kinds in turn."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines() if line.strip()]
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in SCHEMAS}
    longest = max(map(len, by_kind.values()))
    return [
        TypedCase(f"{kind}-{number + 1}", kind, found[number]["text"], found[number]["value"])
        for number in range(longest)
        for kind, found in by_kind.items()
        if number < len(found)
    ]


Way = Callable[[TypedCase], Found]


def raw(session: Session) -> Way:
    """The schema and the text in a prompt, "answer in JSON"."""

    def ask(case: TypedCase) -> Found:
        prompt = PROMPT.format(schema=json.dumps(case.schema), text=case.text)
        text, cause = session.chat({"messages": [{"role": "user", "content": prompt}], "max_tokens": OUTPUT_TOKENS})
        fenced = _FENCE.match(text.strip())
        try:
            value = json.loads(fenced[1] if fenced else text)
        except ValueError:
            return Found(cause=cause or "no JSON", answer=text)
        return Found(value=value, answer=text)

    return ask


class Helped:
    """``deck.ask`` with the schema and the configuration that the product proposes for the model."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._deck = session.deck()

    def __call__(self, case: TypedCase) -> Found:
        """Return the value of the answer."""
        limits = CallLimits(deadline_s=self._session.request_s)
        question = QUESTION.format(text=case.text)
        answer = self._deck.ask(question, type=case.schema, model=self._session.model_id, limits=limits)
        return Found(value=answer.value, answer=json.dumps(answer.value, ensure_ascii=False))

    def close(self) -> None:
        """Close the deck."""
        self._deck.close()


class Peer:
    """A library in its own environment."""

    def __init__(self, session: Session, name: str) -> None:
        self._process = PeerProcess(name, session.proxy.base_url, session.model)

    def __call__(self, case: TypedCase) -> Found:
        """Return the value of the answer."""
        job = {"text": QUESTION.format(text=case.text), "schema": case.schema, "max_tokens": OUTPUT_TOKENS}
        answer = self._process.run(job)
        if failure := answer.get("failure"):
            cause = cause_of(answer["message"])
            return Found(cause=failure if cause == "error of the server" else cause, answer=str(answer["message"]))
        return Found(value=answer["value"], answer=json.dumps(answer["value"], ensure_ascii=False))

    def close(self) -> None:
        """End the process."""
        self._process.close()


WAYS: Mapping[str, Callable[[Session], Any]] = {
    "helped": Helped,
    "raw": raw,
    "instructor": lambda session: Peer(session, "instructor"),
    "pydantic_ai": lambda session: Peer(session, "pydantic_ai"),
    "outlines": lambda session: Peer(session, "outlines"),
}


def judge(case: TypedCase, found: Found) -> dict[str, Any]:
    """Compare an answer with the schema and with the values of the text."""
    if found.value is None:
        return {"cause": found.cause or "no answer"}
    if find_problems(case.schema, found.value):
        return {"cause": "other fields or types"}
    expected, same = leaves(case.expected), leaves(found.value)
    right = sum(is_same(same.get(path), value) for path, value in expected.items())
    is_right = right == len(expected) == len(same)
    detail = {"fields": len(expected), "right_fields": right}
    return {"valid": True, "right": is_right, "cause": "" if is_right else "wrong values", "detail": detail}


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the scalar values of a value by their path."""
    if isinstance(value, Mapping):
        return {key: each for name, inner in value.items() for key, each in leaves(inner, f"{path}.{name}").items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {
            key: each for place, inner in enumerate(value) for key, each in leaves(inner, f"{path}.{place}").items()
        }
    return {path: value}


def is_same(found: Any, expected: Any) -> bool:
    """Compare two scalars: strings without regard to case, surrounding whitespace and a final stop; numbers by value."""
    if isinstance(found, bool) or isinstance(expected, bool) or found is None or expected is None:
        return found is expected
    if isinstance(found, str) and isinstance(expected, str):
        return _plain(found) == _plain(expected)
    if isinstance(found, (int, float)) and isinstance(expected, (int, float)):
        return math.isclose(found, expected)
    return False


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")
