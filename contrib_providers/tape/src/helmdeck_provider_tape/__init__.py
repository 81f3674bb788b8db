"""The provider ``tape``: records the traffic of another provider to a file, and replays it without a network.

A model id is ``tape/`` and the whole id of the model whose traffic is recorded: ``tape/openrouter/openrouter/free``.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Budget, BudgetTable, Provider, ProviderContext, ProviderSettings, ProviderSpec, hookimpl

NAME = "tape"
FREE = ":free"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The one provider."""
    return (
        ProviderSpec(
            name=NAME,
            open=_open,
            summary="records the traffic of another provider to a file, and replays it",
            options={"mode": "auto"},
        ),
    )


@hookimpl
def helmdeck_model_budget(model_id: str, table: BudgetTable) -> Budget | None:
    """Give ``tape/X`` the row of ``X``.

    A model without a row and a free route are left to the next plugin, which knows no row for them under this name
    either: both get what unknown models get, and a free route is never trusted more than that.
    """
    provider, _, model = model_id.strip().casefold().partition("/")
    if provider != NAME or model.endswith(FREE):
        return None
    row = table.find(model)
    return row.budget if row is not None and row.prefix else None


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_provider_tape.provider import open_tape

    return open_tape(settings, context)
