"""Records and facts as plain data that JSON can represent: what is exported, and what stores may keep."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import PlanRecord, RecordedStep
from helmdeck_history.store_types import EPOCH_S, HALF_LIFE_S, Fact

LAST_TIME_S: Final = EPOCH_S + 1_000 * HALF_LIFE_S
"""The latest time of a record, in 2064: the weights of later ones are too large for a number."""

_LAST_HASH: Final = 2**63 - 1
_SHA: Final = re.compile("(?:[0-9a-f]{16})?")


def record_to_row(record: PlanRecord) -> dict[str, Any]:
    """Return a record as plain data; ``kind`` is that of the record.

    >>> from helmdeck_core import PlanRecord
    >>> from helmdeck_history import record_of_row, record_to_row
    >>> record = PlanRecord(caller="ann", intent_sha="0" * 16, outcome="planned", model="acme/large", duration_s=1.5, time=0.0)
    >>> record_of_row(record_to_row(record)) == record
    True
    """
    steps = [
        {
            "order": step.order,
            "tool": step.tool,
            "args_sha": step.args_sha,
            **({"values": dict(step.values)} if step.values else {}),
        }
        for step in record.steps
    ]
    row: dict[str, Any] = {
        "kind": record.kind, "id": record.id, "caller": record.caller, "intent_sha": record.intent_sha,
        "outcome": record.outcome, "cause": record.cause, "complexity": record.complexity, "model": record.model,
        "duration_s": record.duration_s, "time": record.time, "steps": steps, "sketch": list(record.sketch),
    }  # fmt: skip
    return row


def record_of_row(row: Mapping[str, Any]) -> PlanRecord:
    """Return the record of plain data.

    :raises ValueError: a field is missing, unknown or of another type.

    >>> from helmdeck_core import PlanRecord
    >>> from helmdeck_history import record_of_row, record_to_row
    >>> record = PlanRecord(caller="ann", intent_sha="0" * 16, outcome="planned", model="acme/large", duration_s=1.5, time=0.0)
    >>> record_of_row(record_to_row(record)) == record
    True
    """
    try:
        steps = [_step(step) for step in row.get("steps", ())]
        return msgspec.convert(_known({**row, "steps": steps}, PlanRecord), PlanRecord)
    except (msgspec.ValidationError, TypeError, AttributeError) as exc:
        raise ValueError(f"not a record: {exc}") from None


def fact_to_row(fact: Fact) -> dict[str, Any]:
    """Return a fact as plain data; ``kind`` is ``fact``.

    >>> from helmdeck_history import Fact, fact_of_row, fact_to_row
    >>> fact = Fact(id="1", caller="ann", text="prefers short posts", time=0.0, expires=86400.0)
    >>> fact_of_row(fact_to_row(fact)) == fact
    True
    """
    return {
        "kind": "fact", "id": fact.id, "caller": fact.caller, "text": fact.text, "tags": list(fact.tags),
        "time": fact.time, "expires": fact.expires,
    }  # fmt: skip


def fact_of_row(row: Mapping[str, Any]) -> Fact:
    """Return the fact of plain data.

    :raises ValueError: a field is missing, unknown or of another type.

    >>> from helmdeck_history import Fact, fact_of_row, fact_to_row
    >>> fact = Fact(id="1", caller="ann", text="prefers short posts", time=0.0, expires=86400.0)
    >>> fact_of_row(fact_to_row(fact)) == fact
    True
    """
    try:
        fields = {name: value for name, value in row.items() if name != "kind"}
        return msgspec.convert(_known(fields, Fact), Fact)
    except (msgspec.ValidationError, TypeError) as exc:
        raise ValueError(f"not a fact: {exc}") from None


def check_values(item: PlanRecord | Fact) -> None:
    """Check that every store can keep an item and compute with it.

    :raises ValueError: a time, a duration or a hash is out of range, or a name is none.
    """
    times = {"time": item.time, **({"expires": item.expires} if isinstance(item, Fact) else {})}
    for name, time_s in times.items():
        if not 0 <= time_s <= LAST_TIME_S:
            raise ValueError(f"{name}: {time_s!r} is out of range; seconds since 1970 UTC, 0 to {LAST_TIME_S:.0f}")
    if isinstance(item, Fact):
        return
    if not 0 <= item.duration_s < math.inf:
        raise ValueError(f"duration_s: {item.duration_s!r} is out of range; seconds, from 0")
    if _SHA.fullmatch(item.intent_sha) is None:
        raise ValueError(f"intent_sha: {item.intent_sha!r:.40} is not a hash of 16 hexadecimal digits, nor empty")
    for name, text in (("model", item.model), *(("tool", step.tool) for step in item.steps)):
        if not text.isprintable():
            raise ValueError(f"{name}: {text!r:.40} has characters that are not printable")
    if wrong := [each for each in item.sketch if not 0 <= each <= _LAST_HASH]:
        raise ValueError(f"sketch: {wrong[0]} is out of range; 0 to {_LAST_HASH}")


def _step(step: Mapping[str, Any]) -> RecordedStep:
    if not isinstance(step, Mapping):
        raise TypeError(f"steps: {step!r:.40} is not an object")
    return msgspec.convert(_known(dict(step), RecordedStep), RecordedStep)


def _known(fields: dict[str, Any], kind: type) -> dict[str, Any]:
    unknown = sorted(fields.keys() - {field.name for field in getattr(kind, "__attrs_attrs__")})
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}")
    return fields
