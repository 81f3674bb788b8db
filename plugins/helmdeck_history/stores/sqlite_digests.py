"""Digests for SQLite: what the prior of a request needs, in two small reads. Triggers keep them equal to their tables.

To compute the prior from ``history_part`` and ``history_step``, up to sixteen rows for each hash of a sketch are read and grouped,
which takes about as long as a selection from a small catalog. Digests are written in the background, when a plan is recorded.
"""

# ruff: noqa: S608  # statements consist of constants of this module; all values are parameters

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from helmdeck_history.store_types import MAX_SAME_PART, MAX_SIMILAR, MAX_STEPS, MIN_SIMILARITY, weight_at

Read = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]

# ``members`` has the newest requests with a hash, as ``SHA:SIZE``; ``weights`` the sums of the weights of the newest steps for a
# request, as JSON by tool. ``oldest`` is the time of the oldest row in a digest: after it has expired, the digest is not used.
_PART = (
    "INSERT INTO history_part_digest SELECT {row}.caller, {row}.part, group_concat(intent_sha || ':' || size, ' '), MIN(time) "
    "FROM (SELECT intent_sha, size, time FROM history_part WHERE caller = {row}.caller AND part = {row}.part "
    f"ORDER BY time DESC LIMIT {MAX_SAME_PART}) "
)
_INTENT = (
    "INSERT INTO history_intent_digest SELECT {row}.caller, {row}.intent_sha, json_group_object(tool, weight), MIN(oldest) "
    "FROM (SELECT tool, SUM(weight) AS weight, MIN(time) AS oldest FROM (SELECT tool, weight, time FROM history_step "
    "WHERE caller = {row}.caller AND intent_sha = {row}.intent_sha "
    f"ORDER BY time DESC LIMIT {MAX_STEPS}) GROUP BY tool) "
)


def _triggers(table: str, key: str, content: str, insert: str) -> Iterator[str]:
    digest = table.replace("step", "intent") + "_digest"
    replace = (
        f"WHERE true ON CONFLICT (caller, {key}) DO UPDATE SET {content} = excluded.{content}, oldest = excluded.oldest"
    )
    for event in ("INSERT", "UPDATE"):
        yield (
            f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} WHEN NEW.intent_sha <> '' BEGIN "
            f"{insert.format(row='NEW')} {replace}; END"
        )
    yield (  # without another row, nothing is inserted
        f"CREATE TRIGGER {table}_delete AFTER DELETE ON {table} WHEN OLD.intent_sha <> '' BEGIN "
        f"DELETE FROM {digest} WHERE caller = OLD.caller AND {key} = OLD.{key}; "
        f"{insert.format(row='OLD')} GROUP BY NULL; END"
    )


TABLES = (
    """CREATE TABLE history_part_digest (
        caller TEXT NOT NULL, part BIGINT NOT NULL, members TEXT NOT NULL, oldest REAL NOT NULL,
        PRIMARY KEY (caller, part)) WITHOUT ROWID""",
    """CREATE TABLE history_intent_digest (
        caller TEXT NOT NULL, intent_sha TEXT NOT NULL, weights TEXT NOT NULL, oldest REAL NOT NULL,
        PRIMARY KEY (caller, intent_sha)) WITHOUT ROWID""",
    *_triggers("history_part", "part", "members", _PART),
    *_triggers("history_step", "intent_sha", "weights", _INTENT),
)
FILL = ("UPDATE history_part SET size = size", "UPDATE history_step SET weight = weight")
"""Creates the digests of rows that were written without them."""


def weights(
    read: Read, caller: str, intent_sha: str, sketch: Sequence[int], now: float, oldest: float
) -> Mapping[str, float] | None:
    """Return the weights of a caller's tools for similar requests; ``None`` if a digest has expired rows."""
    marks = ", ".join("?" * len(sketch))
    statement = (
        "SELECT weights, oldest, '' FROM history_intent_digest WHERE caller = ?1 AND intent_sha = ?2 UNION ALL "
        f"SELECT '', MIN(oldest), group_concat(members, ' ') FROM history_part_digest WHERE caller = ?1 AND part IN ({marks})"
    )
    *own, (_, parts_s, members) = read(statement, (caller, intent_sha, *sketch))
    near = {intent_sha: 1.0}
    if members is not None:
        if parts_s < oldest:
            return None
        if similar := _similar(members.split(), intent_sha, len(sketch)):
            marks = ", ".join("?" * len(similar))
            statement = (
                "SELECT weights, oldest, intent_sha FROM history_intent_digest "
                f"WHERE caller = ? AND intent_sha IN ({marks})"
            )
            own += read(statement, (caller, *similar))
            near |= similar
    found: dict[str, float] = {}
    scale = 1 / weight_at(now)
    for packed, time_s, sha in own:
        if time_s < oldest:
            return None
        factor = near[sha or intent_sha] ** 2 * scale
        for tool, weight in msgspec.json.decode(packed).items():
            if weight > 0:
                found[tool] = found.get(tool, 0.0) + weight * factor
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _similar(members: Sequence[str], intent_sha: str, size: int) -> Mapping[str, float]:
    least, found = MIN_SIMILARITY * size, []  # with fewer matches, the union of the sketches is too large
    for member, matches in Counter(members).items():
        if matches >= least:
            sha, _, other = member.rpartition(":")
            near = matches / (size + int(other) - matches)  # as similarity(), without the call
            if near >= MIN_SIMILARITY and sha != intent_sha:
                found.append((sha, near))
    return dict(sorted(found, key=lambda each: (-each[1], each[0]))[:MAX_SIMILAR])
