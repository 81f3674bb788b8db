"""What accounts spent in a span of days, as the store counts it: settled calls, and the estimates of calls of killed processes."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import attrs

from helmdeck_gateway.stores.records import KeyRecord, Period, TeamRecord, Usage, sum_of
from helmdeck_gateway.stores.store import ACCOUNTS_AT_ONCE, AccountStore, KeyStore

T = TypeVar("T")
Record = TypeVar("Record", KeyRecord, TeamRecord)


@attrs.frozen(kw_only=True)
class AccountSpend:
    """What one key spent in one team.

    :ivar team: the team that the key had when the calls began.
    """

    record: KeyRecord
    team: str
    spend: Period


class _Store(KeyStore, AccountStore, Protocol):
    """What a bill reads."""


async def read_spend(store: _Store, first: datetime.date, last: datetime.date) -> Sequence[AccountSpend]:
    """Return what each key of the store spent, revoked and replaced ones included, in each team that it had.

    :param first: the first day, in UTC.
    :param last: the last day; it is included.
    :raises StorageError: the store does not answer.
    """
    days, months = spans(first, last)
    periods = [*(day.isoformat() for day in days), *(month.isoformat()[:7] for month in months)]
    found: list[AccountSpend] = []
    for records in batched(await store.list_keys(), ACCOUNTS_AT_ONCE):
        accounts = [account for record in records for account in (record.id, *_parts_of(record).values())]
        spend = await store.spend(accounts, periods)
        for record in records:
            found += _by_team(record, spend)
    return found


async def read_usages(store: AccountStore, records: Sequence[Record]) -> Sequence[tuple[Record, Usage]]:
    """Return keys or teams with what each of them has used.

    :raises StorageError: the store does not answer.
    """
    found: list[tuple[Record, Usage]] = []
    for each in batched(records, ACCOUNTS_AT_ONCE):
        found += zip(each, await store.usages([record.id for record in each]), strict=True)
    return found


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in groups."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _parts_of(record: KeyRecord) -> Mapping[str, str]:
    """The accounts of the teams that a key had, in their order; none of a key that always had its team."""
    teams = (*record.teams_before, record.team) if record.teams_before else ()
    return {team: record.account_in(team) for team in teams}


def _by_team(record: KeyRecord, spend: Mapping[str, Period]) -> list[AccountSpend]:
    whole = spend.get(record.id, Period())
    parts = {team: spend.get(account, Period()) for team, account in _parts_of(record).items()}
    # The calls before the first move have no account but that of the key.
    first = next(iter(parts), record.team)
    parts[first] = sum_of([parts.get(first, Period()), _rest(whole, sum_of(list(parts.values())))])
    return [AccountSpend(record=record, team=team, spend=part) for team, part in parts.items()]


def spans(first: datetime.date, last: datetime.date) -> tuple[list[datetime.date], list[datetime.date]]:
    """Return the single days of a span, and the first days of its whole months."""
    days: list[datetime.date] = []
    months: list[datetime.date] = []
    day = first
    while day <= last:
        end = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        is_whole = day.day == 1 and end <= last
        (months if is_whole else days).append(day)
        day = (end if is_whole else day) + datetime.timedelta(days=1)
    return days, months


def _rest(whole: Period, part: Period) -> Period:
    return Period(**{name: getattr(whole, name) - getattr(part, name) for name in attrs.fields_dict(Period)})
