"""A page of *Models*: what other orders of a fallback chain would have saved."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from helmdeck_chains import recorded_advice
from helmdeck_console.screens.budgets import budget_of
from helmdeck_console.web.access import Refused
from helmdeck_console.web.page_request import PageRequest

DAYS: Final = 7.0


async def show(page: PageRequest) -> Response:
    """Show the advice about a chain, which ``helmdeck chain advise`` prints."""
    if page.team:
        raise Refused("The advice is from the attempts of all teams; an operator of one team does not see it.", 403)
    return await page.read(_shown, page)


def _shown(page: PageRequest) -> Response:
    deck = page.sources.deck
    model = page.query("model") or deck.runtime.config.model
    if budget_of(deck, model) is None:
        raise Refused(f"{model[:100]!r} is not a model id.", 404)
    models = deck.runtime.chain(model)
    advice = recorded_advice(deck, models, DAYS) if len(models) > 1 else None
    return page.shown(
        "chain.html",
        model=model,
        models=models,
        advice=advice,
        days=DAYS,
        policy=deck.runtime.config.chains.policy,
        unproven=sorted({each for kind in advice.kinds for each in kind.unproven}) if advice else (),
    )
