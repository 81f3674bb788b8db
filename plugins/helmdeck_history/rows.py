"""Records and facts as plain data that JSON can represent: what is exported, and what stores may keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from helmdeck_core import PlanRecord, RecordedStep
from helmdeck_history.store_types import Fact


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


def _step(step: Mapping[str, Any]) -> RecordedStep:
    return msgspec.convert(_known(dict(step), RecordedStep), RecordedStep)


def _known(fields: dict[str, Any], kind: type) -> dict[str, Any]:
    unknown = sorted(fields.keys() - {field.name for field in getattr(kind, "__attrs_attrs__")})
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}")
    return fields
