"""``helmdeck usage export``: what teams, keys and models cost in a span of days, for a bill.

Teams and keys are billed by the gateway's store, where no call is missing, by the team that a key had when a call began. The request
log has the models; it lacks calls of killed processes, so that the rest of each key is a row of its own.
"""

from __future__ import annotations

import argparse
import collections
import csv
import datetime
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from helmdeck_core import Command, SecretRef, hookimpl
from helmdeck_core.cli import CURRENCY, ExitCode, UsageError, note, read_config, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_gateway import AccountSpend, Period
    from helmdeck_telemetry import ModelSpend, RequestLog

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "team": ("team", "keys", "requests", "refused", "unpriced", "held_usd", "spent_usd"),
    "key": ("team", "key", "key_id", "requests", "refused", "unpriced", "held_usd", "spent_usd"),
    "model": (
        "team", "key", "model", "requests", "input_tokens", "cached_tokens", "output_tokens", "unpriced", "spent_usd",
    ),
}  # fmt: skip
"""The columns by ``--by``, after ``from`` and ``to``."""

UNRECORDED: Final = "(not recorded)"
"""The model of calls that the request log does not have."""

LONGEST: Final = datetime.timedelta(days=3_660)
NUMBERS: Final = frozenset(
    ("keys", "requests", "refused", "unpriced", "held_usd", "spent_usd", "input_tokens", "cached_tokens", "output_tokens")
)  # fmt: skip
_FIGURES: Final = ("requests", "input_tokens", "cached_tokens", "output_tokens", "unpriced", "cost_nusd")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the span and the groups."""
    parser.epilog = (
        "Days are those of UTC. Amounts are US dollars, exact to a billionth; spent_usd has the calls that are settled, and the "
        "upper estimates of calls whose gateway was killed. held_usd is what calls under way may cost. By model, the rest of a key "
        f"is the row {UNRECORDED}: calls of killed gateways, and calls that the request log no longer has. A call "
        "counts for the team that its key had when it began."
    )
    parser.add_argument(
        "--from", dest="first", metavar="DATE", type=_date, help="first day; default: the first of the month"
    )
    parser.add_argument("--to", dest="last", metavar="DATE", type=_date, help="last day, included; default: today")
    parser.add_argument("--by", choices=tuple(COLUMNS), default="team", help="the rows; default: team")
    parser.add_argument("--csv", action="store_true", help="print comma-separated values")


def run(arguments: argparse.Namespace) -> int:
    """Print the bill."""
    first, last = _span(arguments)
    from helmdeck_gateway import read_spend, with_store

    found: Sequence[AccountSpend] = (
        with_store(arguments, lambda store: read_spend(store, first, last), is_read=True) or ()
    )
    accounts = [each for each in found if any((each.spend.requests, each.spend.refused, each.spend.spent_nusd))]
    rows = {"team": _teams, "key": _keys}[arguments.by](accounts) if arguments.by != "model" else (
        _models(accounts, _recorded(arguments, first, last))
    )  # fmt: skip
    span = {"from": first.isoformat(), "to": last.isoformat()}
    columns = COLUMNS[arguments.by]
    if arguments.json:
        show_json(
            {**span, "by": arguments.by, "rows": [_data(row) for row in rows], "total": _data(_total(rows, columns))}
        )
    elif arguments.csv:
        show(_csv(({**span, **row} for row in rows), ("from", "to", *columns)).rstrip("\n"))
    elif not rows:
        note(f"no key of the gateway made a call from {first} to {last}")
    else:
        lines = [[_text(row.get(name, "")) for name in columns] for row in (*rows, _total(rows, columns))]
        headings = [name.replace("_usd", f" ({CURRENCY})").replace("_", " ") for name in columns]
        show(table(lines, headings, right={place for place, name in enumerate(columns) if name in NUMBERS}))
    return ExitCode.OK


def _date(text: str) -> datetime.date:
    try:
        date = datetime.date.fromisoformat(text.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-11-30") from None
    if date == datetime.date.max:  # it has no next day
        raise argparse.ArgumentTypeError(f"{text!r} is too late")
    return date


def _span(arguments: argparse.Namespace) -> tuple[datetime.date, datetime.date]:
    today = datetime.datetime.now(datetime.UTC).date()
    last = arguments.last or today
    first = arguments.first or last.replace(day=1)
    if first > last:
        raise UsageError(f"--from {first} is later than --to {last}")
    if last - first > LONGEST:
        raise UsageError("at most ten years can be exported at once")
    return first, last


# -- rows --------------------------------------------------------------------------------------------------------

Row = dict[str, Any]


def usd(nusd: int) -> Decimal:
    """Return an amount in US dollars, exactly."""
    return Decimal(nusd).scaleb(-9)


def _amounts(accounts: Sequence[AccountSpend]) -> Row:
    from helmdeck_gateway import sum_of

    spend = sum_of([each.spend for each in accounts])
    return {
        "requests": spend.requests,
        "refused": spend.refused,
        "unpriced": spend.unpriced,
        "held_usd": usd(spend.held_nusd),
        "spent_usd": usd(spend.spent_nusd),
    }


def _teams(accounts: Sequence[AccountSpend]) -> list[Row]:
    groups: dict[str, list[AccountSpend]] = {}
    for each in accounts:
        groups.setdefault(each.team, []).append(each)
    return [
        {"team": team, "keys": len({each.record.id for each in own}), **_amounts(own)}
        for team, own in sorted(groups.items())
    ]


def _keys(accounts: Sequence[AccountSpend]) -> list[Row]:
    ordered = sorted(accounts, key=lambda each: (each.team, each.record.name))
    return [
        {"team": each.team, "key": each.record.name, "key_id": each.record.id, **_amounts([each])} for each in ordered
    ]


def _models(accounts: Sequence[AccountSpend], recorded: Sequence[ModelSpend]) -> list[Row]:
    by_account: dict[tuple[str, str], list[ModelSpend]] = {}
    ids = _ids_of_names(accounts)
    for each in recorded:
        key_id = each.key_id or ids.get((each.team, each.key), "")
        by_account.setdefault((key_id, each.team), []).append(each)
    rows: list[Row] = []
    for account in accounts:
        own = by_account.get((account.record.id, account.team), [])
        place = {"team": account.team, "key": account.record.name}
        rows += [{**place, **figures} for figures in _model_figures(account.spend, own)]
    return sorted(rows, key=lambda row: (row["team"], row["key"], row["model"] == UNRECORDED, row["model"]))


def _model_figures(spend: Period, recorded: Sequence[ModelSpend]) -> Iterator[Row]:
    """The figures by model, which add up to what is billed.

    The log may have a little more, such as a call that began at midnight: then its largest rows are lowered.
    """
    requests, nusd = spend.requests, spend.spent_nusd
    sums: dict[str, dict[str, int]] = {}
    for each in recorded:  # a model has one row for each name that the key had
        found = sums.setdefault(each.model, dict.fromkeys(_FIGURES, 0))
        for name in _FIGURES:
            found[name] += getattr(each, name)
    for model in sorted(sums, key=lambda model: (sums[model]["cost_nusd"], model)):
        figures = sums[model]
        figures["requests"], figures["cost_nusd"] = min(figures["requests"], requests), min(figures["cost_nusd"], nusd)
        requests, nusd = requests - figures["requests"], nusd - figures["cost_nusd"]
        yield {"model": model, **figures, "spent_usd": usd(figures["cost_nusd"])}
    if requests or nusd:
        yield {"model": UNRECORDED, **dict.fromkeys(_FIGURES, 0), "requests": requests, "spent_usd": usd(nusd)}


def _ids_of_names(accounts: Sequence[AccountSpend]) -> Mapping[tuple[str, str], str]:
    """The keys by team and name, for rows of earlier releases: only those that the names alone identify."""
    names = collections.Counter(each.record.name.partition("~")[0] for each in accounts)
    return {
        (each.team, each.record.name): each.record.id
        for each in accounts
        if not each.record.teams_before and names[each.record.name.partition("~")[0]] == 1
    }


def _recorded(arguments: argparse.Namespace, first: datetime.date, last: datetime.date) -> Sequence[ModelSpend]:
    from helmdeck_storage import StorageError

    log = _log(arguments)
    if log is None:
        return ()
    since = datetime.datetime.combine(first, datetime.time(), datetime.UTC)
    until = datetime.datetime.combine(last, datetime.time(), datetime.UTC) + datetime.timedelta(days=1)
    try:
        return log.spending(int(since.timestamp() * 1e6), int(until.timestamp() * 1e6))
    except StorageError as exc:
        raise UsageError(f"{exc}; [events.options.requests] url names the request log") from exc
    finally:
        log.close()


def _log(arguments: argparse.Namespace) -> RequestLog | None:
    """The request log, where ``helmdeck serve`` writes it; ``None`` if there is none yet."""
    from helmdeck_gateway import GatewaySettings
    from helmdeck_telemetry import RequestLog, default_log_path

    loaded = read_config(arguments)
    url = str(loaded.config.events.options.get("requests", {}).get("url") or "")
    kind, _, target = url.partition(":")
    if kind in ("env", "file"):
        url = SecretRef(kind, target).read() or ""
    store = GatewaySettings.load(loaded).store_url() or ""
    if not url and store.startswith(("postgresql:", "postgres:")):
        url = store
    return RequestLog.open(url) if url or default_log_path().exists() else None


# -- output ------------------------------------------------------------------------------------------------------


def _total(rows: Iterable[Row], columns: Sequence[str]) -> Row:
    total: Row = {name: 0 for name in columns if name in NUMBERS}
    for row in rows:
        for name in total:
            total[name] += row[name]
    return {columns[0]: "total", **total}


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:,.9f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _data(row: Row) -> Row:
    return {name: format(value, "f") if isinstance(value, Decimal) else value for name, value in row.items()}


def _csv(rows: Iterable[Row], columns: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(name, _data(row)[name]) for name in columns] for row in rows)
    return out.getvalue()


def _cell(name: str, value: Any) -> Any:
    # A name from a client could be a formula for a spreadsheet.
    is_formula = name not in NUMBERS and isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command."""
    return (
        Command(
            name="usage export",
            summary="show what teams, keys or models cost, or print it for a bill",
            group_summary="what calls of the gateway cost",
            configure=configure,
            run=run,
            order=95,
        ),
    )
