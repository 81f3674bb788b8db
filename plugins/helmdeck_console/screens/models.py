"""The screen *Models*: budgets with their evidence, usable share, cost per usable answer, cooldowns and calibration."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import attrs
from starlette.responses import Response

from helmdeck_console.screens.budgets import budget_of, cost_of
from helmdeck_console.screens.calibrations import Calibrations
from helmdeck_console.screens.now import PERIODS, period_of
from helmdeck_console.web.access import Refused
from helmdeck_console.web.charts import CurvePoint, curve
from helmdeck_console.web.page_request import Handler, PageRequest
from helmdeck_core import BudgetLookup, ProviderSpec
from helmdeck_history import Outcome
from helmdeck_telemetry import Cooldown, ModelFigures

CAPABILITIES: Final = (
    ("allows_llm_filter", "A filter call may narrow an unsure selection"),
    ("is_hybrid_reasoning", "May return reasoning before its answer"),
    ("wants_strict_json", "JSON mode improves its output"),
    ("enforces_schema", "The server keeps a JSON Schema while it generates"),
    ("supports_prefix_cache", "Cached prompt prefixes cost less"),
    ("supports_logprobs", "Returns the log-probabilities of tokens"),
    ("chooser", "What chooses the tool of a single step"),
    ("prompt_variant", "Prompt variant"),
    ("first_token_timeout_s", "Seconds until the first token"),
)
"""Fields of a budget that say what a model can do."""

PRICES: Final = ("input_cost_usd_per_mtok", "cached_input_cost_usd_per_mtok", "output_cost_usd_per_mtok")
MAX_ROWS: Final = 200


@attrs.frozen(kw_only=True)
class ModelRow:
    """A model with its figures.

    :ivar lookup: its budget; ``None`` if its name is not a model id.
    :ivar cost_per_usable: US dollars per usable answer; ``None`` without one, or without a known price.
    """

    model: str
    lookup: BudgetLookup | None
    figures: ModelFigures | None
    cooldown: Cooldown | None

    @property
    def usable_share(self) -> float | None:
        """The share of attempts that gave a usable answer."""
        return self.figures.usable / self.figures.attempts if self.figures and self.figures.attempts else None

    @property
    def cost_per_usable(self) -> float | None:
        """US dollars per usable answer."""
        if self.figures is None or not self.figures.usable:
            return None
        cost = cost_of(self.figures, self.lookup)
        return None if cost is None else cost / self.figures.usable


async def show(page: PageRequest) -> Response:
    """Show all models."""
    return await page.read(_shown, page)


def _shown(page: PageRequest) -> Response:
    period = period_of(page, "day")
    rows, total = rows_of(page, period)
    return page.shown("models.html", rows=rows, total=total, period=period, periods=PERIODS)


def rows_of(page: PageRequest, period: Any, only: str | None = None) -> tuple[Sequence[ModelRow], int]:
    """Return the models that were called in a period, and those of the configuration; and how many there are.

    :param only: the only model to return; ``None`` for the most used ones.
    """
    deck, log = page.sources.deck, page.sources.log
    called = {
        each.model: each
        for each in (log.by_model(period.span_s, time.time() - period.length_s, page.team) if log else ())
    }
    resting = {} if log is None or page.team else {each.model: each for each in log.cooldowns()}
    names = dict.fromkeys((*called, *deck.runtime.chain(deck.runtime.config.model)))
    chosen = list(names)[:MAX_ROWS] if only is None else [each for each in names if each == only]
    rows = [
        ModelRow(
            model=name,
            lookup=budget_of(deck, name),
            figures=called.get(name),
            cooldown=resting.get(name)
            or next(
                (each for each in resting.values() if not each.model and name.startswith(f"{each.provider}/")), None
            ),
        )
        for name in chosen
    ]
    return rows, len(names)


def show_one(calibrations: Calibrations) -> Handler:
    """Return the handler of the page of one model."""

    async def show(page: PageRequest) -> Response:
        return await page.read(_shown_one, page, calibrations)

    return show


def _shown_one(page: PageRequest, calibrations: Calibrations) -> Response:
    deck, name = page.sources.deck, page.query("model")
    period = period_of(page, "day")
    row = next(iter(rows_of(page, period, only=name)[0]), None)
    lookup = budget_of(deck, name)
    if row is None and (lookup is None or not (lookup.row or _has_provider(page, name))):
        raise Refused(f"No model {name[:100]!r} was called or is configured.", 404)
    outcome = page.sources.calibration(deck, name) if lookup is not None else None
    return page.shown(
        "model.html",
        name=name,
        row=row,
        lookup=lookup,
        period=period,
        periods=PERIODS,
        capabilities=[
            (text, getattr(lookup.budget, field), lookup.sources.get(field, "")) for field, text in CAPABILITIES
        ]
        if lookup
        else [],
        prices=[(field, getattr(lookup.budget, field)) for field in PRICES] if lookup else [],
        outcome=outcome,
        curve=_curve(outcome) if outcome is not None else None,
        running=calibrations.of(name),
        can_calibrate=page.sources.effective is not None and not page.sources.is_demo and not page.team,
        error=page.query("error"),
        quote=quote,
    )


def _has_provider(page: PageRequest, model: str) -> bool:
    """Whether there is a provider for a model that was not called so far, and may be calibrated."""
    provider, loaded = model.partition("/")[0], page.sources.effective
    is_configured = loaded is not None and provider in loaded.config.providers
    return is_configured or provider in page.sources.deck.runtime.contributed(ProviderSpec)


def _curve(outcome: Outcome) -> Any:
    points = [
        CurvePoint(
            size=each.size,
            share=each.successes / each.trials,
            bound=each.bound,
            is_claimed=each.size == outcome.claimed,
        )
        for each in outcome.counts
        if each.trials
    ]
    return curve(points, f"Right plans in % by catalog size, {outcome.model}") if points else None


def calibrate(calibrations: Calibrations) -> Handler:
    """Return the handler that starts a calibration."""

    async def start(page: PageRequest) -> Response:
        model, loaded = page.form.get("model", ""), page.sources.effective
        if loaded is None or page.sources.is_demo:
            raise Refused("This console has no configuration to calibrate with; see helmdeck calibrate.", 409)
        if page.team:
            raise Refused("A calibration is at the cost of all teams; an operator of one team does not start it.", 403)
        if budget_of(page.sources.deck, model) is None:
            raise Refused(f"{model[:100]!r} is not a model id.", 422)
        most = page.form.get("max_cost", "").strip().removeprefix("$")
        try:
            max_cost = float(most) if most else None
        except ValueError:
            max_cost = -1.0
        if max_cost is not None and not 0 < max_cost <= 10_000:
            raise Refused("The maximum cost is an amount of US dollars above 0 and up to 10000.", 422)
        problem = calibrations.start(loaded, model, max_cost)
        if problem:
            raise Refused(problem, 409)
        await page.record_action("calibration started", model, f"at most {max_cost:g} US dollars" if max_cost else "")
        return page.redirect(f"/models/one?model={quote(model, safe='')}")

    return start


def cancel(calibrations: Calibrations) -> Handler:
    """Return the handler that cancels a calibration."""

    async def stop(page: PageRequest) -> Response:
        model = page.form.get("model", "")
        if page.team:
            raise Refused("An operator of one team does not cancel calibrations.", 403)
        if calibrations.cancel(model):
            await page.record_action("calibration cancelled", model)
        return page.redirect(f"/models/one?model={quote(model, safe='')}")

    return stop
