"""The tables of the request log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from helmdeck_storage import Schema, Session
from helmdeck_telemetry.request_log.texts import text_tables

SPANS_S: Final = (60, 900, 3_600)
"""Seconds of a roll-up: a minute for the last hour, a quarter of an hour for a day, an hour for a week."""

ALL_TEAMS: Final = "*"
"""The roll-ups of all teams; calls without a team count here alone."""

FIGURES: Final = (
    "requests", "usable", "aborted", "cost_nusd", "unpriced", "input_tokens", "cached_tokens", "output_tokens",
    "before_bytes", "after_bytes",
)  # fmt: skip
"""The sums of a roll-up of requests."""


def schema_for(url: str) -> Schema:
    """Return the tables of the request log for the database of a URL."""
    is_postgres = not url.startswith("sqlite")
    # Prefixes of ids are ranges, which need the order of bytes.
    name = 'TEXT COLLATE "C" NOT NULL' if is_postgres else "TEXT NOT NULL"
    texts = ("outcome", "model", "requested", "caller", "key", "team", "pack", "variant")
    whole = (
        "attempts", "input_tokens", "cached_tokens", "output_tokens", "cost_nusd", "unpriced", "before_bytes", "after_bytes",
    )  # fmt: skip
    columns = [
        f"call_id {name} PRIMARY KEY",
        "ended_us BIGINT NOT NULL",
        "latency_ms BIGINT NOT NULL",
        "first_token_ms BIGINT",
    ]
    columns += [f"{each} {name}" for each in texts] + [f"{each} BIGINT NOT NULL" for each in whole]
    key_id = f"key_id {name} DEFAULT ''"
    columns += [f"request_id {name}", key_id]
    place = f"span_s BIGINT NOT NULL, start_s BIGINT NOT NULL, team {name}"
    return Schema(
        name="requests",
        version=3,
        upgrades={
            1: lambda session: _execute(session, text_tables(name)),
            2: lambda session: _execute(session, (f"ALTER TABLE requests ADD COLUMN {key_id}",)),
        },
        has_own_file=False,
        tables=(
            f"CREATE TABLE requests ({', '.join(columns)})",
            "CREATE INDEX requests_ended ON requests (ended_us, call_id)",
            *(f"CREATE INDEX requests_{each} ON requests ({each}, ended_us, call_id)"
              for each in ("outcome", "model", "key", "team", "pack", "variant")),
            (f"CREATE TABLE request_causes (cause {name}, ended_us BIGINT NOT NULL, call_id {name}, team {name}, "
            "PRIMARY KEY (cause, ended_us, call_id))"),
            "CREATE INDEX request_causes_ended ON request_causes (ended_us)",
            f"CREATE TABLE request_traces (call_id {name} PRIMARY KEY, ended_us BIGINT NOT NULL, parent {name}, trace TEXT NOT NULL)",
            "CREATE INDEX request_traces_ended ON request_traces (ended_us)",
            "CREATE INDEX request_traces_parent ON request_traces (parent) WHERE parent <> ''",
            (f"CREATE TABLE rollup_requests ({place}, {', '.join(f'{each} BIGINT NOT NULL' for each in FIGURES)}, "
            "PRIMARY KEY (span_s, team, start_s))"),
            (f"CREATE TABLE rollup_latencies ({place}, bucket BIGINT NOT NULL, requests BIGINT NOT NULL, "
            "PRIMARY KEY (span_s, team, start_s, bucket))"),
            (f"CREATE TABLE rollup_attempts ({place}, model {name}, cause {name}, attempts BIGINT NOT NULL, "
            "cost_nusd BIGINT NOT NULL, latency_ms BIGINT NOT NULL, PRIMARY KEY (span_s, team, start_s, model, cause))"),
            (f"CREATE TABLE cooldowns (provider {name}, model {name}, route {name}, cause {name}, until_us BIGINT NOT NULL, "
            "PRIMARY KEY (provider, model, route))"),
            (f"CREATE TABLE operator_actions (id {name} PRIMARY KEY, time_us BIGINT NOT NULL, actor {name}, team {name}, "
            f"action {name}, subject {name}, detail {name})"),
            "CREATE INDEX operator_actions_time ON operator_actions (time_us)",
            f"CREATE TABLE saved_tries (id {name} PRIMARY KEY, time_us BIGINT NOT NULL, team {name}, data TEXT NOT NULL)",
            "CREATE INDEX saved_tries_time ON saved_tries (time_us)",
            *text_tables(name),
        ),
    )  # fmt: skip


def _execute(session: Session, statements: Iterable[str]) -> None:
    for each in statements:
        session.change(each)
