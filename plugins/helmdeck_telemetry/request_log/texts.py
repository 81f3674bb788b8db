"""The texts of requests and answers in the request log, where the configuration records them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_storage import Session
from helmdeck_telemetry.request_log.facts import clean

MAX_CHARS: Final = 4_000_000
"""Characters of a stored text, whatever the configuration says."""


@attrs.frozen(kw_only=True)
class RecordedTexts:
    """The request and the answer of one attempt, with secrets masked.

    :ivar attempt: number of the attempt, from 1.
    """

    call_id: str
    attempt: int
    request: str
    answer: str


def text_tables(name: str) -> tuple[str, ...]:
    """Return the statements that create the tables.

    :param name: the type of a name in the database.
    """
    return (
        (
            f"CREATE TABLE request_texts (call_id {name}, attempt BIGINT NOT NULL, ended_us BIGINT NOT NULL, "
            "request TEXT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (call_id, attempt))"
        ),
        "CREATE INDEX request_texts_ended ON request_texts (ended_us)",
    )


def add(session: Session, texts: Sequence[RecordedTexts]) -> None:
    """Store texts."""
    now_us = int(time.time() * 1e6)
    rows = [
        (clean(each.call_id, 100), each.attempt, now_us, clean(each.request, MAX_CHARS), clean(each.answer, MAX_CHARS))
        for each in texts
    ]
    session.many("INSERT INTO request_texts VALUES (?, ?, ?, ?, ?) ON CONFLICT (call_id, attempt) DO NOTHING", rows)


def of_call(session: Session, call_id: str) -> tuple[RecordedTexts, ...]:
    """Return the texts of the attempts of a call, in order."""
    rows = session.rows(
        "SELECT call_id, attempt, request, answer FROM request_texts WHERE call_id = ? ORDER BY attempt LIMIT 100",
        (clean(call_id, 100),),
    )
    return tuple(
        RecordedTexts(call_id=c, attempt=int(n), request=request, answer=answer) for c, n, request, answer in rows
    )
