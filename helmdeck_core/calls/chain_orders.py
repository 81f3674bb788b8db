"""Asks the configured chain policy for the order of a chain, once per call, and reports how the attempts ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from helmdeck_core.calls.operation import CallOptions
from helmdeck_core.config.structure import read_options
from helmdeck_core.domain.chain_policies import ChainOrder, ChainPolicy, ChainPolicySpec, ChainRequest, ChainSetup
from helmdeck_core.domain.events import CallRef, ChainOrdered, HistoryFailed
from helmdeck_core.domain.history import HistoryStore, HistoryStoreSpec
from helmdeck_core.errors import Attempt, PluginError, Usage
from helmdeck_core.hooks.calls import Contribution, attributed
from helmdeck_core.log import logger
from helmdeck_core.redaction import Secrets
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_core.secret_places import url_secrets


@attrs.define(eq=False)
class ChainOrders:
    """The policy of a deck; without one, chains keep their configured order at no cost.

    :ivar policy: ``None`` for the configured order.
    """

    runtime: Runtime
    name: str = ""
    policy: ChainPolicy | None = None
    _contribution: Contribution[ChainPolicySpec] | None = None

    def configured(self, options: CallOptions) -> tuple[str, ...]:
        """Return the configured chain of a call: the requested model, then its fallbacks."""
        return self.runtime.chain(options.model, options.limits.fallbacks)

    def order(
        self, facts: Callable[[], ChainRequest], options: CallOptions, *, is_dry_run: bool = False
    ) -> ChainOrder | None:
        """Return the order of a chain; ``None`` for the configured one.

        :param facts: see ``Operation.chain_facts``.
        :param is_dry_run: nothing will be recorded for the order.
        :raises CallFailed: no model of the chain may be called.
        :raises PluginError: the policy failed, or named a model that is not in the chain.
        """
        if self.policy is None or self._contribution is None:
            return None
        models = self.configured(options)
        if len(models) == 1:
            return None
        request = attrs.evolve(
            facts(),
            models=models,
            pack=options.pack,
            caller=options.caller,
            max_attempts=options.limits.max_attempts,
        )
        method = self.policy.explain if is_dry_run else self.policy.order
        order = attributed(self._contribution, method, ChainOrder)(request)
        if not order.models or not set(models).issuperset(order.models):
            raise self._contribution.fault(
                f"ChainPolicySpec {self.name!r} ordered {order.models}, the chain is {models}"
            )
        return order

    def record(self, order: ChainOrder | None, attempts: Sequence[Attempt]) -> None:
        """Report the attempts of a call that ended. A policy that raises does not fail the call; it is logged."""
        if order is None or self.policy is None or self._contribution is None or not attempts:
            return
        try:
            with self._contribution.faults("record: "):
                self.policy.record(order, attempts)
        except PluginError as exc:
            logger().warning("the chain policy {} did not record a call: {}", self.name, exc)

    def report(self, call: CallRef, order: ChainOrder | None) -> None:
        """Emit the order of a call."""
        if order is not None and self.runtime.sinks:
            self.runtime.emit(
                ChainOrdered(
                    **call.place, policy=self.name, models=order.models, reason=order.reason, details=order.details()
                )
            )

    def close(self) -> None:
        """Close the policy."""
        if self.policy is not None and self._contribution is not None:
            with self._contribution.faults("close: "):
                self.policy.close()


def open_chain_orders(runtime: Runtime) -> ChainOrders:
    """Open the policy that the configuration names.

    :raises ConfigError: with every mistake of its options.
    :raises PluginError: it cannot be opened.
    """
    specs, config = runtime.contributed(ChainPolicySpec), runtime.config.chains
    contribution = specs.get(config.policy) if config.policy else next(iter(specs.values()), None)
    if contribution is None or contribution.value.open is None:
        return ChainOrders(runtime)
    spec = contribution.value
    setup = ChainSetup(
        options=chain_options(runtime, spec),
        price=lambda model, usage: _price(runtime, model, usage),
        open_store=_store_opener(runtime),
        report=lambda exc: runtime.emit(HistoryFailed(caller="", detail=_fault(runtime, exc))),
    )
    with contribution.faults("open: "):
        assert spec.open is not None
        policy = spec.open(setup)
    return ChainOrders(runtime, spec.name, policy, contribution)


def chain_options(runtime: Runtime, spec: ChainPolicySpec) -> Any:
    """Return the options of a policy, as its ``options_type``; ``None`` without one.

    :raises ConfigError: with every mistake.
    """
    if spec.options_type is None:
        return None
    return read_options(runtime.config.chains.options, spec.options_type, "chains", "options")


def _price(runtime: Runtime, model: str, usage: Usage) -> float | None:
    return runtime.pricer.cost_usd(runtime.budgets.find(model, lists_prices=True).budget, model, usage)


def _store_opener(runtime: Runtime) -> Any:
    config = runtime.config.history
    if config.is_off or not config.url:
        return None
    scheme, _, target = config.url.partition(":")

    def open_store() -> HistoryStore:
        store: HistoryStore = runtime.contributed(HistoryStoreSpec)[scheme].value.open(target, config.keep_days)
        return store

    return open_store


def _fault(runtime: Runtime, exc: BaseException) -> str:
    url = runtime.config.history.url or ""
    contribution = runtime.contributed(HistoryStoreSpec)[url.partition(":")[0]]
    return contribution.crash("chains:", exc, Secrets(url_secrets(url))).detail
