"""The values that stores keep: keys with their limits, and what accounts have used. Amounts are integers, in nano US dollars."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs
import msgspec

NANO: Final = 1_000_000_000
"""Nano US dollars in a US dollar."""

MAX_NUSD: Final = 9_000_000 * NANO
"""Largest amount; up to here, the numbers of Redis scripts are exact."""

RETRY_S: Final = 1.0
"""Seconds after which a call that others under way keep from being admitted may be sent again."""

LOST_S: Final = 86_400.0
"""Seconds for which a call whose lease has ended can still be settled with its cost."""

LimitName = Literal["rate", "concurrency", "spend_per_day", "spend_per_month"]


@attrs.frozen(kw_only=True)
class Limits:
    """The limits of an account; ``None`` is no limit.

    :ivar rate: calls in any ``window_s`` seconds.
    :ivar concurrency: calls under way.
    :ivar day_nusd: spend per day in UTC.
    :ivar month_nusd: spend per calendar month in UTC.
    """

    rate: int | None = None
    window_s: float = 60.0
    concurrency: int | None = None
    day_nusd: int | None = None
    month_nusd: int | None = None


@attrs.frozen(kw_only=True)
class KeyRecord:
    """A key of a client.

    :ivar id: public part of the key, which also names its account.
    :ivar digest: SHA-256 of the whole key, in hexadecimal digits.
    :ivar version: 1 for a new name, and one more after every change.
    :ivar caller: the caller of the deck, for events, traces, history and stored responses.
    :ivar models: names of models that it may use, as clients send them; ``*`` at the end matches every rest. ``None``: all.
    :ivar created_s: seconds since 1970, as the others; ``None``: never.
    :ivar narrows_tools: overrides the setting of the gateway.
    :ivar requires_price: models without a known price are refused.
    :ivar role: what it may do in the console: ``viewer`` reads, ``admin`` also changes; empty for neither.
    :ivar team: the team that it belongs to; an operator with a team sees that team alone.
    """

    name: str
    id: str
    digest: str = attrs.field(repr=False)
    caller: str
    version: int = 1
    limits: Limits = Limits()
    models: tuple[str, ...] | None = None
    created_s: float = 0.0
    expires_s: float | None = None
    revoked_s: float | None = None
    narrows_tools: bool | None = None
    requires_price: bool = False
    role: str = ""
    team: str = ""

    def to_json(self) -> str:
        """Return the record as text."""
        return msgspec.json.encode(attrs.asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> KeyRecord:
        """Return the record of a text; fields of newer releases are left out."""
        row: dict[str, Any] = msgspec.json.decode(text)
        limits = Limits(**_known(row.pop("limits", {}), Limits))
        models = row.pop("models", None)
        return cls(**_known(row, cls), limits=limits, models=None if models is None else tuple(models))


def _known(row: Mapping[str, Any], cls: type[Any]) -> dict[str, Any]:
    names = attrs.fields_dict(cls)
    return {name: value for name, value in row.items() if name in names}


@attrs.frozen
class Admission:
    """The call is admitted."""


@attrs.frozen(kw_only=True)
class Refusal:
    """The call is refused.

    :ivar limit: the limit that is reached.
    :ivar retry_after_s: seconds after which the call may be admitted.
    :ivar spent_nusd: what is spent in the period of a spend limit.
    :ivar held_nusd: what calls under way hold of it.
    """

    limit: LimitName
    retry_after_s: float
    spent_nusd: int = 0
    held_nusd: int = 0


@attrs.frozen
class Open:
    """A call that is under way.

    :ivar held_nusd: the least amount to hold for it.
    """

    call_id: str
    held_nusd: int = 0


@attrs.frozen(kw_only=True)
class Period:
    """What an account used in a day or month.

    :ivar held_nusd: estimated cost of calls under way.
    :ivar requests: admitted calls.
    :ivar refused: refused calls.
    :ivar unpriced: settled calls of a model without a known price.
    """

    spent_nusd: int = 0
    held_nusd: int = 0
    requests: int = 0
    refused: int = 0
    unpriced: int = 0


@attrs.frozen(kw_only=True)
class Usage:
    """What an account uses.

    :ivar under_way: calls under way.
    """

    day: Period = Period()
    month: Period = Period()
    under_way: int = 0


def periods(now_s: float) -> tuple[str, str]:
    """Return the day and the month in UTC, such as ``2026-11-22`` and ``2026-11``."""
    day = datetime.datetime.fromtimestamp(now_s, datetime.UTC).strftime("%Y-%m-%d")
    return day, day[:7]


def seconds_left(now_s: float) -> tuple[float, float]:
    """Return the seconds until the next day and the next month in UTC."""
    now = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + datetime.timedelta(days=1)
    first = (now.replace(day=1) + datetime.timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds(), (first - now).total_seconds()


def to_nusd(usd: float) -> int:
    """Return US dollars in nano US dollars, rounded up so that spend is never too low."""
    # A float of US dollars is off by less than a millionth of a nano US dollar, which must not become a whole one.
    return math.ceil(min(MAX_NUSD, usd * NANO - 1e-6)) if usd > 0 else 0


def to_usd(nusd: int) -> float:
    """Return nano US dollars in US dollars."""
    return nusd / NANO
