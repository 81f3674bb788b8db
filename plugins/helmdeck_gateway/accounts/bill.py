"""What accounts spent in a span of days, as the store counts it: settled calls, and the estimates of calls of killed processes."""

from __future__ import annotations

import asyncio
import calendar
import datetime
from collections.abc import Sequence
from typing import Final, Protocol

import attrs

from helmdeck_gateway.stores.records import KeyRecord, Period
from helmdeck_gateway.stores.store import AccountStore, KeyStore

AT_ONCE: Final = 16
"""Accounts that are read at the same time."""

TRIES: Final = 5
"""How often the accounts of a key that had several teams are read, until no call has ended in between."""


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
    gate = asyncio.Semaphore(AT_ONCE)

    async def total(account: str) -> Period:
        await store.usage(account)  # counts the calls of killed processes
        found = [(await store.usage(account, now_s=noon_s(day))).day for day in days]
        found += [(await store.usage(account, now_s=noon_s(month))).month for month in months]
        return sum_of(found)

    async def read(record: KeyRecord) -> list[AccountSpend]:
        async with gate:
            if not record.teams_before:
                return [AccountSpend(record=record, team=record.team, spend=await total(record.id))]
            teams, parts, whole = tuple(dict.fromkeys((*record.teams_before, record.team))), list[Period](), Period()
            for _ in range(TRIES):
                former, whole = parts, await total(record.id)
                parts = [await total(record.account_in(team)) for team in teams]
                if parts == former:
                    break
        # The calls before the first move have no account but that of the key.
        parts[0] = sum_of([parts[0], _rest(whole, sum_of(parts))])
        return [AccountSpend(record=record, team=team, spend=part) for team, part in zip(teams, parts, strict=True)]

    return [each for found in await asyncio.gather(*map(read, await store.list_keys())) for each in found]


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


def noon_s(day: datetime.date) -> float:
    """Return the noon of a day in UTC, in seconds since 1970."""
    return datetime.datetime.combine(day, datetime.time(12), datetime.UTC).timestamp()


def sum_of(periods: Sequence[Period]) -> Period:
    """Return the sums of periods.

    >>> from helmdeck_gateway import Period, sum_of
    >>> sum_of([Period(spent_nusd=10, requests=1), Period(spent_nusd=30, requests=2)]).requests
    3
    """
    return Period(**{name: sum(getattr(each, name) for each in periods) for name in attrs.fields_dict(Period)})


def _rest(whole: Period, part: Period) -> Period:
    return Period(**{name: getattr(whole, name) - getattr(part, name) for name in attrs.fields_dict(Period)})
