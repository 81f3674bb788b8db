"""The screen *Keys*: create, revoke, spend against limits, and the audit log."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from typing import Any, Final

import attrs
from starlette.responses import Response

from helmdeck_console.web.access import Refused
from helmdeck_console.web.page_request import PageRequest
from helmdeck_core.log import logger
from helmdeck_gateway import (
    KEY_NAME,
    GatewayStore,
    KeyNameTaken,
    KeyRecord,
    KeyUnknown,
    Limits,
    create_key,
    revoke_key,
    to_nusd,
    to_usd,
)
from helmdeck_telemetry import OperatorAction

MAX_LISTED: Final = 500
"""Keys of a page."""

WINDOWS_S: Final[Mapping[str, float]] = {"s": 1.0, "min": 60.0, "h": 3_600.0, "day": 86_400.0}
_RATE: Final = re.compile(r"(\d{1,6})\s*/\s*(s|min|h|day)")
_DAYS: Final = re.compile(r"\d{1,5}")


@attrs.frozen(kw_only=True)
class KeyRow:
    """A key with its use.

    :ivar share: spend of the month, or of the day, as a share of the limit; ``None`` without a limit.
    """

    record: KeyRecord
    state: str
    day_usd: float
    month_usd: float
    requests: int
    refused: int
    share: float | None


async def show(page: PageRequest, *, made: Any = None, error: str = "", status: int = 200) -> Response:
    """Show the screen.

    :param made: a new key, whose secret is shown this once.
    """
    store = page.sources.find_store()
    log = page.sources.log
    actions = await page.read(log.actions, page.team) if log is not None else ()
    rows = await _rows(store, page.team) if store is not None else []
    teams: dict[str, float] = {}
    for row in rows:
        teams[row.record.team] = teams.get(row.record.team, 0.0) + row.month_usd
    return await page.show(
        "keys.html",
        status,
        rows=rows,
        teams=sorted(teams.items(), key=lambda each: -each[1]) if len(teams) > 1 or "" not in teams else [],
        actions=actions,
        has_store=store is not None,
        made=made,
        error=error,
        values=page.form,
        done=page.query("done"),
        subject=page.query("subject"),
        usd_of=to_usd,
        rate_of=_rate_text,
    )


async def _rows(store: GatewayStore, team: str) -> list[KeyRow]:
    records = [each for each in await store.list_keys() if not team or each.team == team]
    records.sort(key=lambda each: (each.revoked_s is not None, each.team, each.name))
    shown = records[:MAX_LISTED]
    usages = await asyncio.gather(*(store.usage(each.id) for each in shown))
    return [_row(record, usage) for record, usage in zip(shown, usages, strict=True)]


def _row(record: KeyRecord, usage: Any) -> KeyRow:
    limits = record.limits
    shares = [
        period.spent_nusd / limit
        for period, limit in ((usage.day, limits.day_nusd), (usage.month, limits.month_nusd))
        if limit
    ]
    is_expired = record.expires_s is not None and record.expires_s <= time.time()
    state = "revoked" if record.revoked_s is not None else "expired" if is_expired else "active"
    return KeyRow(
        record=record,
        state=state,
        day_usd=to_usd(usage.day.spent_nusd),
        month_usd=to_usd(usage.month.spent_nusd),
        requests=usage.month.requests,
        refused=usage.month.refused,
        share=max(shares, default=None),
    )


def _rate_text(limits: Limits) -> str:
    if limits.rate is None:
        return ""
    unit = next((name for name, seconds in WINDOWS_S.items() if seconds == limits.window_s), f"{limits.window_s:g} s")
    return f"{limits.rate:,}/{unit}"


async def create(page: PageRequest) -> Response:
    """Create a key, and show its secret once."""
    store = _store(page)
    try:
        record = record_of(page.form, page.team, time.time())
        made = await create_key(store, record)
    except KeyNameTaken:
        text = f"There is an active key named {page.form.get('name', '')!r}. Revoke it, or choose another name."
        return await show(page, error=text, status=422)
    except ValueError as exc:
        return await show(page, error=str(exc), status=422)
    detail = ", ".join(
        filter(None, (f"role {record.role}" if record.role else "", f"team {record.team}" if record.team else ""))
    )
    await _log(page, "key created", record.name, detail, record.team)
    return await show(page, made=made)


async def revoke(page: PageRequest) -> Response:
    """Revoke a key."""
    store, name = _store(page), page.form.get("name", "")
    record = next((each for each in await store.list_keys() if each.name == name), None)
    if record is None or (page.team and record.team != page.team):
        raise Refused("There is no such key.", 404)
    try:
        await revoke_key(store, name, time.time())
    except KeyUnknown:
        raise Refused("The key is revoked already.", 409) from None
    await _log(page, "key revoked", name, "", record.team)
    return page.redirect(f"/keys?done=revoked&subject={record.name}")


def _store(page: PageRequest) -> GatewayStore:
    store = page.sources.find_store()
    if store is None:
        raise Refused(
            "This gateway has no store of keys. The first key makes one: helmdeck keys create NAME --role admin", 409
        )
    return store


async def _log(page: PageRequest, action: str, subject: str, detail: str, team: str) -> None:
    entry = OperatorAction(
        time_us=int(time.time() * 1e6),
        actor=page.visitor.name,
        action=action,
        subject=subject,
        detail=detail,
        team=team,
    )
    logger().bind(actor=entry.actor, subject=subject, detail=detail).info("console: {}", action)
    if (log := page.sources.log) is not None:
        await page.read(log.add_action, entry)


def record_of(form: Mapping[str, str], team: str, now_s: float) -> KeyRecord:
    """Return the key that a form describes.

    :param team: the team of the operator, which its keys belong to; empty for any.
    :raises ValueError: with what is wrong.
    """
    name, own_team = form.get("name", "").strip(), team or form.get("team", "").strip()
    for text, what in ((name, "The name"), (own_team, "The team")):
        if (text or what == "The name") and KEY_NAME.fullmatch(text) is None:
            raise ValueError(f"{what} has 1 to 64 letters, digits, '.', '_' and '-'; found {text[:80]!r}.")
    role = form.get("role", "")
    if role not in ("", "viewer", "admin"):
        raise ValueError("The role is none, viewer or admin.")
    rate, window_s = _rate(form.get("rate", "").strip())
    days = form.get("days", "").strip()
    if days and (_DAYS.fullmatch(days) is None or int(days) == 0):
        raise ValueError(f"A key expires after a number of days from 1 to 99999; found {days[:40]!r}.")
    concurrency = form.get("concurrency", "").strip()
    if concurrency and not (concurrency.isdecimal() and 0 < int(concurrency) <= 100_000):
        raise ValueError(f"Requests at a time are a number from 1 to 100000; found {concurrency[:40]!r}.")
    models = tuple(dict.fromkeys(filter(None, (each.strip() for each in form.get("models", "").split(",")))))
    if wrong := [each for each in models if "*" in each[:-1]]:
        raise ValueError(f"{wrong[0][:80]!r}: * is allowed at the end of a model alone.")
    day, month = (_usd(form.get(each, "").strip(), each) for each in ("day", "month"))
    return KeyRecord(
        name=name,
        id="",
        digest="",
        caller=name,
        limits=Limits(
            rate=rate,
            window_s=window_s,
            concurrency=int(concurrency) if concurrency else None,
            day_nusd=day,
            month_nusd=month,
        ),
        models=models or None,
        created_s=now_s,
        expires_s=now_s + int(days) * 86_400 if days else None,
        role=role,
        team=own_team,
        requires_price=form.get("priced") == "on",
    )


def _rate(text: str) -> tuple[int | None, float]:
    if not text:
        return None, 60.0
    match = _RATE.fullmatch(text)
    if match is None or not 0 < int(match[1]) <= 100_000:
        raise ValueError(
            f"A rate is such as 60/min, with s, min, h or day and up to 100000 requests; found {text[:40]!r}."
        )
    return int(match[1]), WINDOWS_S[match[2]]


def _usd(text: str, period: str) -> int | None:
    if not text:
        return None
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount <= 1_000_000:
        raise ValueError(
            f"Spend per {period} is an amount of US dollars above 0 and up to 1000000; found {text[:40]!r}."
        )
    return to_nusd(amount)
