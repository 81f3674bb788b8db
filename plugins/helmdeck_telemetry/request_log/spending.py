"""What the recorded calls of a time cost, by team, key and model."""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_storage import Session

_SUMS: Final = ("input_tokens", "cached_tokens", "output_tokens", "cost_nusd", "unpriced")
_READ: Final = (
    "SELECT team, key, key_id, model, COUNT(*), " + ", ".join(f"SUM({each})" for each in _SUMS) + " FROM requests "  # noqa: S608
    "WHERE ended_us >= ? AND ended_us < ? AND ended_us - latency_ms * 1000 >= ? AND ended_us - latency_ms * 1000 < ? "
    "GROUP BY team, key, key_id, model ORDER BY team, key, key_id, model"
)
LONGEST_US: Final = 86_400_000_000
"""Calls that take longer than a day are not found by the day on which they began."""


@attrs.frozen(kw_only=True)
class ModelSpend:
    """The calls of one key that one model answered, or was called last for.

    :ivar key_id: the id of the key; empty in rows of earlier releases.
    :ivar team: the team of the key when the calls were made.
    :ivar cost_nusd: cost of all attempts with a known price, in nano US dollars.
    :ivar unpriced: attempts whose price is unknown.
    """

    team: str
    key: str
    model: str
    requests: int
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_nusd: int = 0
    unpriced: int = 0
    key_id: str = ""


def read_spending(session: Session, since_us: int, until_us: int) -> tuple[ModelSpend, ...]:
    """Return the calls that began in a time."""
    return tuple(
        ModelSpend(
            team=str(team), key=str(key), key_id=str(key_id), model=str(model), requests=int(requests),
            **{name: int(value) for name, value in zip(_SUMS, sums, strict=True)},
        )
        for team, key, key_id, model, requests, *sums in session.rows(
            _READ, (since_us, until_us + LONGEST_US, since_us, until_us)
        )
    )  # fmt: skip
