"""Hooks for models: providers, transports, budgets, prices and recovery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core.hookspecs.markers import hookspec

if TYPE_CHECKING:  # a plugin that imports ``hookimpl`` should not import the types of all hooks
    from helmdeck_core.domain.chain_policies import ChainPolicySpec
    from helmdeck_core.domain.chat import StopReasonTable
    from helmdeck_core.domain.continuation import NativeContinuation
    from helmdeck_core.domain.error_rules import ErrorRuleSet
    from helmdeck_core.domain.models import Budget, BudgetRow, BudgetTable, TierDefaults
    from helmdeck_core.domain.price_sources import PriceSource
    from helmdeck_core.domain.providers import ProviderSpec
    from helmdeck_core.domain.recovery_actions import RecoveryRule
    from helmdeck_core.domain.routing import RouterSpec
    from helmdeck_core.domain.transports import TransportSpec


@hookspec
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Contribute providers of models.

    Called once when a deck is made. ``ProviderSpec.open`` is called at the first request; the deck closes the provider.

    :returns: Provider specifications; their names are the first part of model ids. Empty for none.
    :raises Exception: none is expected; any exception leaves the plugin out, or stops start-up if it is required; both name the plugin.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_transports() -> Sequence[TransportSpec]:
    """Contribute HTTP transports: HTTP clients for providers.

    Called once when a deck is made. ``[http] transport`` or ``[providers.NAME] transport`` chooses one by name, else the
    lowest ``order``. ``TransportSpec.open`` is called at the first request of a provider, once per event loop.

    :returns: Transport specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_routers() -> Sequence[RouterSpec]:
    """Contribute ways to choose between the API keys and servers of a provider.

    Called once when a deck is made. ``routing`` in ``[providers.NAME]`` chooses one by name, else the lowest ``order``.

    :returns: Router specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_chain_policies() -> Sequence[ChainPolicySpec]:
    """Contribute policies that order the models of fallback chains.

    Called once when a deck is made. ``[chains] policy`` chooses one by name, else the lowest ``order``; its ``open`` is called
    then, and the policy it returns orders each call of a chain once.

    :returns: Policy specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Contribute tables of native stop reasons, one per wire format.

    Called once when a deck is made. A stop reason that the table does not list is ``Unknown``, never a clean end.

    :returns: Tables; their names are wire formats. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_error_rules() -> Sequence[ErrorRuleSet]:
    """Contribute rules that map error responses of a vendor to failure classes.

    Called once when a deck is made. ``ProviderSettings.error_rules`` has the sets that name the provider; they come first.

    :returns: Rule sets, usually ``helmdeck_providers.ErrorRules``. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_budget_rows() -> Sequence[BudgetRow]:
    """Contribute rows of the budget table.

    Called once when a deck is made. Rows of all plugins form one table, in which the longest prefix wins.

    :returns: Rows, named by prefix of a model id; bytes, tokens, US dollars per million tokens. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_tier_defaults() -> Sequence[TierDefaults]:
    """Contribute defaults for the models of a tier; budgets and the configuration override them.

    Called once when a deck is made. A tier without contributed defaults has no limits.

    :returns: Defaults; their names are tiers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec(firstresult=True)
def helmdeck_model_budget(model_id: str, table: BudgetTable) -> Budget | None:  # noqa: ARG001
    """Look up the budget of one model.

    Called once per model id and then cached. The first answer is used; wrappers may adjust it; ``[budgets]`` overrides it.

    :param model_id: ``provider/model`` as the caller wrote it, without surrounding whitespace; may be any string.
    :param table: The rows that all plugins contributed.
    :returns: The budget, or ``None`` to leave the model to the next plugin.
    :raises Exception: none is expected for any string; the error names the plugin.

    .. versionadded:: 0.2
    """
    return None


@hookspec
def helmdeck_prices() -> Sequence[PriceSource]:
    """Contribute sources of prices, for models whose budget has none.

    Called once when a deck is made; sources are called after a response, in rising order, until one knows the model.

    :returns: Sources. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_recovery_rules() -> Sequence[RecoveryRule]:
    """Contribute recovery rules: the actions after a failed model call, by its cause.

    Called once when a deck is made. ``[recovery]`` limits attempts, time and cost for every rule.

    :returns: Rules; their names are causes, or causes with sub-causes. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_native_continuations() -> Sequence[NativeContinuation]:
    """Contribute which models support prefill, that is, continue a partial answer in the last message.

    Called once when a deck is made. Models without a row get a hint in the prompt instead.

    :returns: Rows; their names are prefixes of model ids, the longest matching one applies. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()
