"""The screen *Now*: what happened in the last hour, day or week."""

from __future__ import annotations

import collections
import time
from typing import Any, Final

import attrs
from starlette.responses import Response

from helmdeck_console.screens.attempts import BYTES_PER_TOKEN
from helmdeck_console.screens.budgets import budget_of, cost_of
from helmdeck_console.web.charts import Bars
from helmdeck_console.web.page_request import PageRequest
from helmdeck_core import Helmdeck
from helmdeck_telemetry import Filters, RequestLog

USABLE: Final = "usable"
"""The name of attempts without a cause in pictures and tables."""


@attrs.frozen(kw_only=True)
class Period:
    """A period of the screens.

    :ivar span_s: seconds of a bar.
    :ivar label_every_s: seconds between two labels.
    :ivar form: how the labels look; see ``Bars``.
    """

    name: str
    title: str
    length_s: int
    span_s: int
    label_every_s: int
    form: str


PERIODS: Final = (
    Period(name="hour", title="Last hour", length_s=3_600, span_s=60, label_every_s=600, form="minute"),
    Period(name="day", title="Last day", length_s=86_400, span_s=900, label_every_s=10_800, form="minute"),
    Period(name="week", title="Last week", length_s=604_800, span_s=3_600, label_every_s=86_400, form="day"),
)


def period_of(page: PageRequest, default: str = "hour") -> Period:
    """Return the period that the URL names."""
    name = page.query("period", default)
    return next((each for each in PERIODS if each.name == name), PERIODS[0])


async def show(page: PageRequest) -> Response:
    """Show the screen."""
    return await page.read(_shown, page)


def _shown(page: PageRequest) -> Response:
    log = page.sources.log
    period = period_of(page, "day" if page.sources.is_demo else "hour")
    if log is None:
        return page.shown("empty.html", title="Now")
    return page.shown("now.html", **content(page.sources.deck, log, period, page.team), periods=PERIODS)


def content(
    deck: Helmdeck, log: RequestLog, period: Period, team: str = "", now_s: float | None = None
) -> dict[str, Any]:
    """Return what the screen shows."""
    now = time.time() if now_s is None else now_s
    since = now - period.length_s
    figures = log.figures(period.span_s, since, team)
    saved = max(0, figures.before_bytes - figures.after_bytes)
    counts = log.attempts_by_cause(period.span_s, since, team)
    starts = list(range(int(since) - int(since) % period.span_s, int(now) + 1, period.span_s))
    totals: collections.Counter[str] = collections.Counter()
    for (_, cause), count in counts.items():
        totals[cause] += count
    # The usable attempts are at the bottom of each bar; causes keep their colour while their order changes.
    causes = sorted(each for each in totals if each)
    series = {cause or USABLE: [counts.get((start, cause), 0) for start in starts] for cause in ("", *causes)}
    bars = Bars(
        starts=starts, series=series, label_every_s=period.label_every_s, form=period.form,
        title=f"Attempts by cause, {period.title.lower()}",
    )  # fmt: skip
    rows = [(start, [values[index] for values in series.values()]) for index, start in enumerate(starts)]
    return {
        "period": period,
        "figures": figures,
        "saved_tokens": round(saved / BYTES_PER_TOKEN),
        "saved_share": saved / figures.before_bytes if figures.before_bytes else None,
        "chart": bars.svg(),
        "legend": [(name, totals["" if name == USABLE else name]) for name in series],
        "rows": [row for row in rows if any(row[1])][::-1],
        "cooldowns": [] if team else log.cooldowns(now),
        "models": [
            (each, cost_of(each, budget_of(deck, each.model))) for each in log.by_model(period.span_s, since, team)[:8]
        ],
        "failures": _failures(log, team, int(since * 1e6)),
    }


def _failures(log: RequestLog, team: str, since_us: int) -> list[Any]:
    """The newest requests without a usable answer."""
    failed: list[Any] = []
    for outcome in log.values("outcome").values:
        if outcome not in ("answered", "aborted"):
            failed += log.page(Filters(outcome=outcome, team=team, since_us=since_us), size=5).rows
    return sorted(failed, key=lambda each: -each.ended_us)[:8]
