"""The values that stores keep: keys and teams with their limits, and what accounts have used. Amounts are integers, in nano US dollars."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import attrs
import msgspec

NANO: Final = 1_000_000_000
"""Nano US dollars in a US dollar."""

LEAST_USD: Final = 1e-9
"""The lowest spend limit: stores count nano US dollars, and less would be a limit of 0."""

MAX_NUSD: Final = 9_000_000 * NANO
"""Largest amount; up to here, the numbers of Redis scripts are exact."""

RETRY_S: Final = 1.0
"""Seconds after which a call that others under way keep from being admitted may be sent again."""

LOST_S: Final = 86_400.0
"""Seconds for which a call whose lease has ended can still be settled with its cost."""

TOKENS: Final = "sso:"
"""Begins what a store has in place of the hash of a key for an account that signs in with tokens: no key has such a hash."""

TOKEN_WINDOW_S: Final = 60.0
"""Seconds in which the tokens of a token limit become available again."""

MAX_TEAMS: Final = 8
"""Teams above a key: its team, and those above that."""

LimitName = Literal["rate", "concurrency", "tokens_per_minute", "spend_per_day", "spend_per_month"]


@attrs.frozen(kw_only=True)
class Limits:
    """The limits of an account; ``None`` is no limit.

    :ivar rate: calls in any ``window_s`` seconds.
    :ivar concurrency: calls under way.
    :ivar day_nusd: spend per day in UTC.
    :ivar month_nusd: spend per calendar month in UTC.
    :ivar tokens: input and output tokens per minute. After a pause, those of one minute are available at once.
    """

    rate: int | None = None
    window_s: float = 60.0
    concurrency: int | None = None
    day_nusd: int | None = None
    month_nusd: int | None = None
    tokens: int | None = None

    @property
    def has_spend(self) -> bool:
        """Whether spend is limited."""
        return self.day_nusd is not None or self.month_nusd is not None


@attrs.frozen
class Node:
    """An account that a call counts against: that of its key, or of a team above it.

    :ivar account: the id of the key or team.
    """

    account: str
    limits: Limits = Limits()


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
    :ivar team: the team that it belongs to; an operator with a team sees that team and the teams below it alone.
    :ivar dialects: endpoints that it may use, such as ``chat``; ``None``: all.
    :ivar tags: tags that its requests may have; ``None``: all.
    :ivar old_digest: the digest before the last rotation; empty for none.
    :ivar old_until_s: until when the key before the last rotation is accepted.
    :ivar teams_before: the teams that it had before, the first one first; empty for a key that always had its team.
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
    dialects: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    old_digest: str = attrs.field(default="", repr=False)
    old_until_s: float = 0.0
    teams_before: tuple[str, ...] = ()

    @property
    def node(self) -> Node:
        """The account of the key."""
        return Node(self.id, self.limits)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The accounts of the key: its own, and last, where it had another team before, that of its calls in its team now."""
        return (self.node, Node(self.account_in(self.team))) if self.teams_before else (self.node,)

    def account_in(self, team: str) -> str:
        """Return the account of the calls in a team since the key had another one for the first time."""
        return f"{self.id}@{team}"

    def moved_from(self, stored: KeyRecord) -> KeyRecord:
        """Return the record as the successor of the stored one, with the teams that the key had before."""
        before = stored.teams_before
        if self.team != stored.team:
            before = tuple(dict.fromkeys((*before, stored.team)))
        return attrs.evolve(self, teams_before=before)

    @property
    def has_secret(self) -> bool:
        """Whether a key opens the account; otherwise, it has the tokens of an issuer, or a revoked key whose name has another key."""
        return ":" not in self.digest

    @property
    def has_tokens(self) -> bool:
        """Whether the tokens of an issuer open the account."""
        return self.digest.startswith(TOKENS)

    def accepts(self, digest: str, now_s: float) -> bool:
        """Return whether the key with the digest is this one, or the one before the last rotation and still accepted."""
        if hmac.compare_digest(self.digest, digest):
            return True
        return bool(self.old_digest) and now_s < self.old_until_s and hmac.compare_digest(self.old_digest, digest)

    def to_json(self) -> str:
        """Return the record as text."""
        return msgspec.json.encode(attrs.asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> KeyRecord:
        """Return the record of a text; fields of newer releases are left out."""
        return cls(**_fields(text, cls))


@attrs.frozen(kw_only=True)
class TeamRecord:
    """A team of keys and other teams. An organisation is a team without a parent.

    The limits of a team hold for all calls of the keys in it and below it together.

    :ivar id: names its account.
    :ivar parent: the name of the team above it; empty for none.
    :ivar version: 1 for a new name, and one more after every change.
    :ivar models: names of models that keys below it may use, as for a key; a key may use what all nodes above it allow.
    :ivar dialects: endpoints that keys below it may use; ``None``: all.
    :ivar tags: tags that requests of keys below it may have; ``None``: all.
    :ivar created_s: seconds since 1970.
    :ivar revoked_s: when the team was revoked, and with it all keys in it and below it; ``None``: it is active.
    """

    name: str
    id: str
    parent: str = ""
    version: int = 1
    limits: Limits = Limits()
    models: tuple[str, ...] | None = None
    dialects: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    created_s: float = 0.0
    revoked_s: float | None = None

    @property
    def node(self) -> Node:
        """The account of the team."""
        return Node(self.id, self.limits)

    def to_json(self) -> str:
        """Return the record as text."""
        return msgspec.json.encode(attrs.asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> TeamRecord:
        """Return the record of a text; fields of newer releases are left out."""
        return cls(**_fields(text, cls))


def _fields(text: str | bytes, cls: type[Any]) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.json.decode(text)
    fields = _known(row, cls)
    fields["limits"] = Limits(**_known(row.get("limits", {}), Limits))
    for name in ("models", "dialects", "tags", "teams_before"):
        if fields.get(name) is not None:
            fields[name] = tuple(fields[name])
    return fields


def _known(row: Mapping[str, Any], cls: type[Any]) -> dict[str, Any]:
    names = attrs.fields_dict(cls)
    return {name: value for name, value in row.items() if name in names}


@attrs.frozen(kw_only=True)
class AuditRecord:
    """One change of a key or team. Each record has a hash over itself and the hash of the one before it.

    :ivar number: 1 for the first one; the others follow without a gap.
    :ivar time_s: seconds since 1970.
    :ivar actor: the name of the key, or ``local:USER`` for the command line of a host.
    :ivar source: ``api``, ``cli`` or ``console``.
    :ivar action: such as ``key created``.
    :ivar subject: the name of the key or team.
    :ivar team: the team of the subject; of a team, its own name.
    :ivar detail: what was changed, never a secret or a hash of one.
    :ivar digest: SHA-256 of the fields before it and of ``before``, in hexadecimal digits.
    :ivar before: the digest of the record before it; empty for the first one.
    """

    number: int
    time_s: float
    actor: str
    source: str
    action: str
    subject: str
    team: str = ""
    detail: str = ""
    before: str = ""
    digest: str = ""

    def sealed(self, last: AuditRecord | None) -> AuditRecord:
        """Return the record as the one that follows another, with its hash."""
        number, before = (1, "") if last is None else (last.number + 1, last.digest)
        numbered = attrs.evolve(self, number=number, before=before, digest="")
        return attrs.evolve(numbered, digest=numbered.computed_digest())

    def computed_digest(self) -> str:
        """Return the hash that the record must have."""
        fields = attrs.asdict(self)
        del fields["digest"]
        return hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()

    def to_json(self) -> str:
        """Return the record as text."""
        return msgspec.json.encode(attrs.asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> AuditRecord:
        """Return the record of a text."""
        return cls(**_known(msgspec.json.decode(text), cls))


@attrs.frozen
class Admission:
    """The call is admitted.

    :ivar left_nusd: the least amount that a spend limit of a node leaves, apart from what this call holds; ``None`` without a
        spend limit, and for a call that was admitted before.
    """

    left_nusd: int | None = None


@attrs.frozen(kw_only=True)
class Refusal:
    """The call is refused.

    :ivar limit: the limit that is reached.
    :ivar place: the place of its node among those of the call.
    :ivar retry_after_s: seconds after which the call may be admitted.
    :ivar spent_nusd: what is spent in the period of a spend limit.
    :ivar held_nusd: what calls under way hold of it.
    """

    limit: LimitName
    retry_after_s: float
    place: int = 0
    spent_nusd: int = 0
    held_nusd: int = 0


@attrs.frozen
class Open:
    """A call that is under way.

    :ivar held_nusd: the least amount to hold for it.
    :ivar held_tokens: the least number of tokens to hold for it.
    """

    call_id: str
    held_nusd: int = 0
    held_tokens: int = 0


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


def sum_of(periods: Sequence[Period]) -> Period:
    """Return the sums of periods.

    >>> from helmdeck_gateway import Period, sum_of
    >>> sum_of([Period(spent_nusd=10, requests=1), Period(spent_nusd=30, requests=2)]).requests
    3
    """
    return Period(**{name: sum(getattr(each, name) for each in periods) for name in attrs.fields_dict(Period)})


@attrs.frozen(kw_only=True)
class Usage:
    """What an account uses.

    :ivar under_way: calls under way.
    :ivar tokens: tokens that counted against the token limit at ``tokens_s``; later, fewer do.
    :ivar now_s: the time of the store.
    """

    day: Period = Period()
    month: Period = Period()
    under_way: int = 0
    tokens: float = 0.0
    tokens_s: float = 0.0
    now_s: float = 0.0

    def tokens_used(self, limits: Limits) -> float:
        """Return the tokens that count against a token limit now; 0 without one."""
        return 0.0 if limits.tokens is None else counted_tokens(self.tokens, self.tokens_s, limits.tokens, self.now_s)


def counted_tokens(tokens: float, since_s: float, limit: int, now_s: float) -> float:
    """Return how many tokens used at a time still count: the limit becomes available again evenly within a minute."""
    return max(0.0, tokens - (now_s - since_s) * limit / TOKEN_WINDOW_S)


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
    """Return US dollars in nano US dollars, rounded up so that spend is never too low.

    >>> from helmdeck_gateway import to_nusd, to_usd
    >>> to_nusd(0.25), to_usd(250_000_000)
    (250000000, 0.25)
    """
    # A float of US dollars is off by less than a millionth of a nano US dollar, which must not become a whole one.
    return math.ceil(min(MAX_NUSD, usd * NANO - 1e-6)) if usd > 0 else 0


def to_usd(nusd: int) -> float:
    """Return nano US dollars in US dollars.

    >>> from helmdeck_gateway import to_usd
    >>> to_usd(250_000_000)
    0.25
    """
    return nusd / NANO
