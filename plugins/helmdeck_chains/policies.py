"""The built-in policies of ``[chains] policy``: ``fixed``, ``advise`` and ``adaptive``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core import ChainPolicy, ChainPolicySpec, ChainSetup, hookimpl

if TYPE_CHECKING:
    from helmdeck_chains.adaptive import AdaptivePolicy


@hookimpl
def helmdeck_chain_policies() -> Sequence[ChainPolicySpec]:
    """The configured order, the same with advice, and the order by expected cost."""
    from helmdeck_chains.settings import ChainOptions

    return (
        ChainPolicySpec(name="fixed", open=None, options_type=ChainOptions, summary="the configured order"),
        ChainPolicySpec(
            name="advise",
            open=_advise,
            options_type=ChainOptions,
            summary="the configured order; records what another one would cost",
            order=1,
        ),
        ChainPolicySpec(
            name="adaptive",
            open=_adaptive,
            options_type=ChainOptions,
            summary="the order with the least expected cost per usable answer",
            order=2,
        ),
    )


def _advise(setup: ChainSetup) -> ChainPolicy:
    from helmdeck_chains.savings import AdvisePolicy

    return _opened(setup, AdvisePolicy)


def _adaptive(setup: ChainSetup) -> ChainPolicy:
    from helmdeck_chains.adaptive import AdaptivePolicy

    return _opened(setup, AdaptivePolicy)


def _opened(setup: ChainSetup, policy_type: type[AdaptivePolicy]) -> ChainPolicy:
    from helmdeck_chains.learning import Learning
    from helmdeck_chains.sharing import Sharing

    policy = policy_type(setup.options, Learning(setup.options, setup.price))
    if setup.open_store is not None:
        sharing = Sharing(setup.open_store, policy.learning, policy.lock, setup.report)
        policy.share_with(sharing.put, sharing.close, sharing.wait_restored)
        sharing.start()
    return policy
