"""What the recorded calls of a time cost, by team, key and model."""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_storage import Session

_SUMS: Final = ("input_tokens", "cached_tokens", "output_tokens", "cost_nusd", "unpriced")
_READ: Final = (
    "SELECT team, key, model, COUNT(*), " + ", ".join(f"SUM({each})" for each in _SUMS) + " FROM requests "  # noqa: S608
    "WHERE ended_us >= ? AND ended_us < ? GROUP BY team, key, model ORDER BY team, key, model"
)


@attrs.frozen(kw_only=True)
class ModelSpend:
    """The calls of one key that one model answered, or was called last for.

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


def read_spending(session: Session, since_us: int, until_us: int) -> tuple[ModelSpend, ...]:
    """Return the calls that ended in a time."""
    return tuple(
        ModelSpend(
            team=str(team), key=str(key), model=str(model), requests=int(requests),
            **{name: int(value) for name, value in zip(_SUMS, sums, strict=True)},
        )
        for team, key, model, requests, *sums in session.rows(_READ, (since_us, until_us))
    )  # fmt: skip
