"""The fields of keys and teams in forms: as texts, and as the values that a change takes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any, Final

from helmdeck_gateway import FieldMistakes, KeyRecord, Limits, TeamRecord, to_usd

UNITS: Final[Mapping[float, str]] = {1.0: "s", 60.0: "min", 3_600.0: "h", 86_400.0: "day"}
_NUMBERS: Final[Mapping[str, tuple[str, type[int | float]]]] = {
    "concurrency": ("concurrency", int),
    "tokens": ("tokens_per_minute", int),
    "day": ("spend_per_day_usd", float),
    "month": ("spend_per_month_usd", float),
}
_LABELS: Final[Mapping[str, str]] = {
    "name": "Name",
    "models": "Models",
    "dialects": "Endpoints",
    "tags": "Tags",
    "rate": "Rate",
    "concurrency": "Requests at a time",
    "tokens_per_minute": "Tokens per minute",
    "spend_per_day_usd": "US dollars per day",
    "spend_per_month_usd": "US dollars per month",
    "team": "Team",
    "parent": "Team above it",
    "role": "Role in the console",
    "expires": "Expires",
}
_WORDS: Final[Mapping[str, str]] = {
    "expected an array of names, or null for all": "expected names separated by commas, or an empty field for all",
    ", or null, found ": ", or an empty field, found ",
}
"""What a mistake has for clients of the API, and for readers of a form."""
_DAY: Final = 10
"""Characters of a date."""


def rate_text(limits: Limits) -> str:
    """Return a rate as forms and tables show it."""
    if limits.rate is None:
        return ""
    return f"{limits.rate}/{UNITS.get(limits.window_s, f'{limits.window_s:g} s')}"


def values_of(record: KeyRecord | TeamRecord) -> Mapping[str, str]:
    """Return the texts of the fields of a form."""
    limits = record.limits
    found = {
        "name": record.name,
        "models": ", ".join(record.models or ()),
        "dialects": ", ".join(record.dialects or ()),
        "tags": ", ".join(record.tags or ()),
        "rate": rate_text(limits),
        "concurrency": _text(limits.concurrency),
        "tokens": _text(limits.tokens),
        "day": "" if limits.day_nusd is None else f"{to_usd(limits.day_nusd):g}",
        "month": "" if limits.month_nusd is None else f"{to_usd(limits.month_nusd):g}",
    }
    if isinstance(record, TeamRecord):
        return {**found, "parent": record.parent}
    expires = "" if record.expires_s is None else _moment(record.expires_s).isoformat()[:_DAY]
    priced = "on" if record.requires_price else ""
    return {**found, "team": record.team, "role": record.role, "expires": expires, "priced": priced}


def fields_of(
    form: Mapping[str, str], record: KeyRecord | TeamRecord | None = None, *, is_team: bool = False
) -> dict[str, Any]:
    """Return the fields of a form for ``with_fields``, which reports the mistakes of all of them.

    :param record: the one that the form edits; what the form shows of it and the reader left as it is stays.
    :param is_team: whether it is the form of a team.
    """
    texts = {name: value.strip() for name, value in form.items()}
    before = values_of(record) if record is not None else {}
    fields: dict[str, Any] = {}
    for name in ("models", "dialects", "tags"):
        if name in texts:
            fields[name] = [each for part in texts[name].split(",") if (each := part.strip())] or None
    if record is not None and texts.get("rate") == before["rate"]:
        texts.pop("rate")  # it may have a window that forms cannot show
    for name in ("rate", "team", "parent", "role"):
        if name in texts:
            fields[name] = texts[name] or None
    for name, (field, kind) in _NUMBERS.items():
        if name in texts and texts[name] != before.get(name):
            fields[field] = _number(texts[name], kind)
    if texts.get("days"):
        fields["expires"] = _after(texts["days"])
    if "expires" in texts and texts["expires"] != before.get("expires"):
        fields["expires"] = texts["expires"] or None
    if not is_team:
        fields["requires_price"] = texts.get("priced") == "on"
    return fields


def sentence_of(mistakes: FieldMistakes) -> str:
    """Return mistakes as a sentence that names the fields by their labels."""
    rows: list[str] = []
    for each in mistakes.mistakes:
        field, _, text = each.partition(": ")
        for word, shown in _WORDS.items():
            text = text.replace(word, shown, 1)
        rows.append(f"{_LABELS.get(field, field)}: {text}")
    return f"{'; '.join(rows)}."


def _number(text: str, kind: type[int | float]) -> Any:
    """A number; a text that is none, so that its mistake is reported."""
    if not text:
        return None
    try:
        number = kind(text.removeprefix("$"))
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _after(days: str) -> str:
    """The time after a number of days; a text that is none, so that its mistake is reported."""
    if not (days.isascii() and days.isdecimal() and len(days) <= 5 and int(days)):
        return f"{days} days"
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=int(days))).isoformat()


def _moment(time_s: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time_s, datetime.UTC)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
