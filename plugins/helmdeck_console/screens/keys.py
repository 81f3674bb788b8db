"""The screen *Keys*: keys and teams with their spend against limits; create, edit, rotate, revoke; and the audit log."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

import attrs
from starlette.responses import Response

from helmdeck_console.screens import limit_forms
from helmdeck_console.web.access import Refused
from helmdeck_console.web.page_request import Handler, PageRequest
from helmdeck_core.log import logger
from helmdeck_gateway import (
    KEYS,
    TEAMS,
    Actor,
    ChangeRefused,
    FieldMistakes,
    GatewayStore,
    KeyNameTaken,
    KeyRecord,
    KeyUnknown,
    NodeKind,
    TeamNameTaken,
    TeamRecord,
    TeamUnknown,
    audit_entries,
    create_key,
    create_team,
    endpoint_names,
    restore_key,
    rotate_key,
    state_of,
    to_usd,
    with_fields,
)
from helmdeck_telemetry import OperatorAction

Record = TypeVar("Record", KeyRecord, TeamRecord)

MAX_LISTED: Final = 500
"""Keys of a page, and teams."""
MAX_ENTRIES: Final = 50
GRACE_HOURS: Final = (0, 1, 24, 168)
"""Hours for which the key before a rotation may be accepted."""


@attrs.frozen(kw_only=True)
class Row:
    """A key or team with its use.

    :ivar share: spend of the month, or of the day, as a share of the limit; ``None`` without a limit.
    """

    record: Any
    state: str
    day_usd: float
    month_usd: float
    requests: int
    refused: int
    share: float | None


@attrs.frozen(kw_only=True)
class Entry:
    """A row of the audit log."""

    time_us: int
    actor: str
    source: str
    action: str
    subject: str
    detail: str


async def show(page: PageRequest, *, made: Any = None, error: str = "", status: int = 200) -> Response:
    """Show the screen.

    :param made: a new key, whose secret is shown this once.
    """
    store, part = page.sources.find_store(), page.query("name").strip()
    known = await KEYS.visible(store, page.team) if store is not None else ()
    matches = [each for each in known if part.casefold() in each.name.casefold()]
    all_teams = await TEAMS.visible(store, page.team) if store is not None else ()
    keys = await _rows(store, matches) if store is not None else []
    teams = await _rows(store, all_teams) if store is not None else []
    edited = _edited(page, [*known, *all_teams])
    actions, missing = await _entries(page, store)
    spend: dict[str, float] = {}
    for row in keys if len(keys) == len(known) else ():
        spend[row.record.team] = spend.get(row.record.team, 0.0) + row.month_usd
    return await page.show(
        "keys.html",
        status,
        rows=keys,
        teams=teams,
        name=part,
        matches=len(matches),
        total=len(known),
        total_teams=len(all_teams),
        spend=sorted(spend.items(), key=lambda each: -each[1]) if len(spend) > 1 or "" not in spend else [],
        actions=actions[:MAX_ENTRIES],
        missing=missing,
        has_store=store is not None,
        made=made,
        error=error,
        edited=edited,
        values=page.form if error else {} if edited is None else limit_forms.values_of(edited),
        graces=GRACE_HOURS,
        done=_done(page, actions),
        subject=page.query("subject"),
        usd_of=to_usd,
        rate_of=limit_forms.rate_text,
    )


async def _rows(store: GatewayStore, records: Sequence[KeyRecord | TeamRecord]) -> list[Row]:
    shown = sorted(records, key=lambda each: (each.revoked_s is not None, getattr(each, "team", ""), each.name))
    shown = shown[:MAX_LISTED]
    usages = await store.usages([each.id for each in shown])
    return [_row(record, usage) for record, usage in zip(shown, usages, strict=True)]


def _row(record: KeyRecord | TeamRecord, usage: Any) -> Row:
    limits = record.limits
    shares = [
        period.spent_nusd / limit
        for period, limit in ((usage.day, limits.day_nusd), (usage.month, limits.month_nusd))
        if limit
    ]
    return Row(
        record=record,
        state=state_of(record),
        day_usd=to_usd(usage.day.spent_nusd),
        month_usd=to_usd(usage.month.spent_nusd),
        requests=usage.month.requests,
        refused=usage.month.refused,
        share=max(shares, default=None),
    )


def _edited(page: PageRequest, records: Sequence[KeyRecord | TeamRecord]) -> KeyRecord | TeamRecord | None:
    """The key or team whose form is open: that of the URL, or of a form with a mistake."""
    kind = page.form.get("kind", "") if page.form.get("is_edit") else ""
    name, cls = page.form.get("name", ""), TeamRecord if kind == "team" else KeyRecord
    if not kind:
        name, cls = (page.query("edit"), KeyRecord) if page.query("edit") else (page.query("team"), TeamRecord)
    found = (each for each in records if each.name == name and isinstance(each, cls))
    return next((each for each in found if each.revoked_s is None), None) if page.visitor.is_admin else None


async def _entries(page: PageRequest, store: GatewayStore | None) -> tuple[Sequence[Entry], str]:
    """The last entries: changes of keys and teams, and what the request log has of other actions; and why those are missing."""
    none: Sequence[OperatorAction] = ()
    actions, missing = await page.read(page.use_log, lambda log: log.actions(page.team), none)
    found = [
        Entry(
            time_us=each.time_us, actor=each.actor, source="console", action=each.action, subject=each.subject, detail=each.detail
        )
        for each in actions
    ]  # fmt: skip
    for each in await audit_entries(store, MAX_ENTRIES, team=page.team) if store is not None else ():
        found.append(
            Entry(
                time_us=round(each.time_s * 1e6), actor=each.actor, source=each.source, action=each.action,
                subject=each.subject, detail=each.detail,
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: -each.time_us), missing


def _done(page: PageRequest, entries: Sequence[Entry]) -> str:
    """What the reader has just done, as the URL says; empty if the audit log does not have it, since anyone can write a URL."""
    done, subject = page.query("done"), page.query("subject")
    last = next((each for each in entries if each.subject == subject and each.source == "console"), None)
    is_done = last is not None and last.actor == page.visitor.name and last.action in (f"key {done}", f"team {done}")
    return done if is_done else ""


# -- keys --------------------------------------------------------------------------------------------------------


async def create(page: PageRequest) -> Response:
    """Create a key, and show its secret once."""
    store, actor = _store(page), _actor(page)
    name = page.form.get("name", "").strip()
    try:
        fields = limit_forms.fields_of(page.form)
        if page.team and not fields.get("team"):
            fields["team"] = page.team
        blank = KeyRecord(name="", id="", digest="", caller=name, created_s=time.time())
        made = await create_key(store, with_fields(blank, {"name": name, **fields}, _endpoints(page)), actor)
    except _MISTAKES as exc:
        return await show(page, error=_sentence(exc), status=422)
    _log(page, "key created", made.record.name)
    return await show(page, made=made)


async def rotate(page: PageRequest) -> Response:
    """Give a key a new secret, and show it once."""
    store, record = await _node(KEYS, page)
    hours = page.form.get("hours", "0")
    if hours not in map(str, GRACE_HOURS):
        raise Refused("The earlier key is accepted for one of the times in the list.", 422)
    try:
        made = await rotate_key(store, record.name, _actor(page), grace_s=int(hours) * 3_600)
    except _MISTAKES as exc:
        raise Refused(_sentence(exc), 409) from None
    _log(page, "key rotated", record.name)
    return await show(page, made=made)


async def restore(page: PageRequest) -> Response:
    """Accept the tokens of a revoked account again."""
    store, record = await _node(KEYS, page)
    try:
        await restore_key(store, record.name, _actor(page))
    except _MISTAKES as exc:
        raise Refused(_sentence(exc), 409) from None
    _log(page, "key restored", record.name)
    return page.redirect(f"/keys?done=restored&subject={quote(record.name)}")


# -- teams -------------------------------------------------------------------------------------------------------


async def create_a_team(page: PageRequest) -> Response:
    """Create a team."""
    store, actor = _store(page), _actor(page)
    try:
        fields = limit_forms.fields_of(page.form, is_team=True)
        if page.team and not fields.get("parent"):
            fields["parent"] = page.team
        blank = TeamRecord(name="", id="", created_s=time.time())
        record = with_fields(blank, {"name": page.form.get("name", "").strip(), **fields}, _endpoints(page))
        await create_team(store, record, actor)
    except _MISTAKES as exc:
        return await show(page, error=_sentence(exc), status=422)
    _log(page, "team created", record.name)
    return page.redirect(f"/keys?done=created&subject={quote(record.name)}")


# -- keys and teams ----------------------------------------------------------------------------------------------


async def _edit(kind: NodeKind[Record], page: PageRequest) -> Response:
    """Change the limits of a key or team."""
    store, record = await _node(kind, page)
    try:
        fields = limit_forms.fields_of(page.form, record, is_team=isinstance(record, TeamRecord))
        endpoints = _endpoints(page)
        await kind.edit(store, record.name, lambda stored: with_fields(stored, fields, endpoints), _actor(page))
    except _MISTAKES as exc:
        return await show(page, error=_sentence(exc), status=422)
    _log(page, f"{kind.word} edited", record.name)
    return page.redirect(f"/keys?done=edited&subject={quote(record.name)}")


async def _revoke(kind: NodeKind[Record], page: PageRequest) -> Response:
    """Revoke a key; or a team, and with it the keys in it and below it."""
    store, record = await _node(kind, page)
    try:
        await kind.revoke(store, record.name, None, _actor(page))
    except _MISTAKES as exc:
        raise Refused(_sentence(exc), 409) from None
    _log(page, f"{kind.word} revoked", record.name)
    return page.redirect(f"/keys?done=revoked&subject={quote(record.name)}")


edit: Handler = functools.partial(_edit, KEYS)
revoke: Handler = functools.partial(_revoke, KEYS)
edit_a_team: Handler = functools.partial(_edit, TEAMS)
revoke_a_team: Handler = functools.partial(_revoke, TEAMS)


# -- what the forms need -----------------------------------------------------------------------------------------


def _store(page: PageRequest) -> GatewayStore:
    store = page.sources.find_store()
    if store is None:
        raise Refused(
            "This gateway has no store of keys. The first key makes one: helmdeck keys create NAME --role admin", 409
        )
    return store


def _endpoints(page: PageRequest) -> Sequence[str]:
    return endpoint_names(page.sources.deck.runtime)


def _actor(page: PageRequest) -> Actor:
    return Actor(name=page.visitor.name, source="console", team=page.team)


async def _node(kind: NodeKind[Record], page: PageRequest) -> tuple[GatewayStore, Record]:
    store = _store(page)
    record = await kind.find(store, page.team, page.form.get("name", ""))
    if record is None:
        raise Refused(f"There is no such {kind.word}.", 404)
    return store, record


_MISTAKES: Final = (FieldMistakes, KeyNameTaken, KeyUnknown, TeamNameTaken, TeamUnknown, ChangeRefused)


def _sentence(error: Exception) -> str:
    """An error as a sentence for the reader of a page."""
    match error:
        case KeyNameTaken():
            return f"There is an active key named {str(error)!r}. Edit or revoke it, or choose another name."
        case TeamNameTaken():
            return f"The team name {str(error)!r} is taken; the names of revoked teams are not used again."
        case FieldMistakes():
            return limit_forms.sentence_of(error)
        case KeyUnknown():
            return "The key is revoked already."
        case TeamUnknown():
            return f"There is no active team named {error.args[0]!r}."
        case _:
            text = str(error)
            return f"{text[:1].upper()}{text[1:]}."


def _log(page: PageRequest, action: str, subject: str) -> None:
    logger().bind(actor=page.visitor.name, subject=subject).info("console: {}", action)
