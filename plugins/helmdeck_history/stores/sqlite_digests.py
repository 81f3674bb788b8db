"""Digests for SQLite: what the prior of a request needs, in two small reads. Triggers keep them equal to their tables.

To compute the prior from ``history_part`` and ``history_step``, up to sixteen rows for each hash of a sketch are read and grouped,
which takes about as long as a selection from a small catalog. Digests are written in the background, when a plan is recorded.
"""

# ruff: noqa: S608  # statements consist of constants of this module; all values are parameters

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from helmdeck_history.store_types import (
    MAX_SAME_PART,
    MAX_SIMILAR,
    MAX_STEPS,
    MIN_SIMILARITY,
    similarity,
    weight_at,
)

_EXPIRED = "!"
"""Stands for a digest that is not used, in results of statements; neither members nor JSON objects begin with it."""

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
    """Return the weights of a caller's tools for similar requests; ``None`` if a digest has expired rows.

    :param read: reads rows; what is committed between two reads may count in one of them only.
    """
    ((own, *parts),) = read(_digests(len(sketch)), (caller, oldest, intent_sha, *sketch))
    if own == _EXPIRED or _EXPIRED in parts:
        return None
    found: dict[str, float] = {}
    scale = 1 / weight_at(now)
    if own is not None:
        _add(found, own, scale)
    members = " ".join(filter(None, parts)).split()
    if similar := _similar(members, intent_sha, len(sketch)):
        for packed, sha in read(_weights_of(len(similar)), (caller, oldest, *similar)):
            if packed == _EXPIRED:
                return None
            _add(found, packed, similar[sha] ** 2 * scale)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


@cache
def _digests(size: int) -> str:
    """Reads the weights of a request, and the members of all hashes of its sketch. Subqueries take less time than rows."""
    unless_expired = f"CASE WHEN oldest < ?2 THEN '{_EXPIRED}' ELSE {{}} END"
    weights = (
        f"SELECT {unless_expired.format('weights')} FROM history_intent_digest WHERE caller = ?1 AND intent_sha = ?3"
    )
    part = f"SELECT {unless_expired.format('members')} FROM history_part_digest WHERE caller = ?1 AND part = ?"
    return ", ".join([f"SELECT ({weights})", *(f"({part}{number})" for number in range(4, 4 + size))])


@cache
def _weights_of(count: int) -> str:
    return (
        f"SELECT CASE WHEN oldest < ?2 THEN '{_EXPIRED}' ELSE weights END, intent_sha FROM history_intent_digest "
        f"WHERE caller = ?1 AND intent_sha IN ({', '.join(f'?{n}' for n in range(3, 3 + count))})"
    )


def _add(found: dict[str, float], packed: str, factor: float) -> None:
    for tool, weight in msgspec.json.decode(packed).items():
        if weight > 0:
            found[tool] = found.get(tool, 0.0) + weight * factor


def _similar(members: Sequence[str], intent_sha: str, size: int) -> Mapping[str, float]:
    """Return the most similar requests of the members of all hashes, each with its similarity."""
    least, by_digit = _least_matches(size)
    found: list[tuple[float, str]] = []
    # Nearly all members have too few matches, most of them one.
    for member, matches in Counter(members).items():
        if matches >= least and matches >= by_digit[member[-1]]:
            sha, _, other_size = member.rpartition(":")
            near = similarity(matches, size, int(other_size))
            if near >= MIN_SIMILARITY and sha != intent_sha:
                found.append((-near, sha))
    return {sha: -negated for negated, sha in sorted(found)[:MAX_SIMILAR]}


@cache
def _least_matches(size: int) -> tuple[float, Mapping[str, float]]:
    """Return how many matches a similar request has at least: whatever its size, and by the last digit of its size."""
    by_digit = {
        str(digit): next(
            (n for n in range(1, size + 1) if similarity(n, size, max(n, digit)) >= MIN_SIMILARITY), math.inf
        )
        for digit in range(10)
    }
    return min(by_digit.values()), by_digit
