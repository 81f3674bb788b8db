"""The options of the policies ``advise`` and ``adaptive``: ``[chains.options]``."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from helmdeck_core import EMPTY, above_zero, zero_to_one


@attrs.frozen(kw_only=True)
class ModelOptions:
    """Options of the models with a prefix.

    :ivar tags: labels, such as ``eu`` or ``on-premises``, that ``data`` refers to.
    :ivar usd_per_s: US dollars of one second of a model without a price per token, such as a local server.
    """

    tags: tuple[str, ...] = ()
    usd_per_s: float = 0.0


@attrs.frozen(kw_only=True)
class DataOptions:
    """Which models may receive the data of a pack or caller.

    :ivar requires: tags that a model must have.
    :ivar forbids: tags that a model must not have.
    """

    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class ChainOptions:
    """Options of the policies.

    :ivar usd_per_s: the price of a second that a call takes, in US dollars.
    :ivar min_usable: expected share of calls with a usable answer, 0 to 1; better models are called earlier to reach it.
    :ivar max_latency_s: models whose 95th percentile of an attempt is longer are called after all others; left out: no limit.
    :ivar explore_usd_per_day: expected cost that exploration may add in 24 hours, per process.
    :ivar wrong_usd: cost of a wrong answer in US dollars. It sets the probability from which a choice of a chooser and a plan of the
        embedded planner are accepted; left out: the chooser's own, and every plan.
    :ivar hedges: send a second request to the next model when the first one takes longer than its 95th percentile, of a stream: until
        its first token.
    :ivar last_resort: models, by prefix, that stay at the end of a chain that they are at the end of.
    :ivar seed: seed of exploration; left out: different in each process.
    :ivar models: options by prefix of model ids; the longest prefix applies.
    :ivar data: rules by name of a pack or caller; ``""`` for all.
    """

    usd_per_s: float = 0.0
    min_usable: float = attrs.field(default=0.0, validator=zero_to_one)
    max_latency_s: float | None = attrs.field(default=None, validator=above_zero)
    explore_usd_per_day: float = 1.0
    wrong_usd: float | None = attrs.field(default=None, validator=above_zero)
    hedges: bool = False
    last_resort: tuple[str, ...] = ("local/",)
    seed: int | None = None
    models: Mapping[str, ModelOptions] = EMPTY
    data: Mapping[str, DataOptions] = EMPTY

    def of_model(self, model: str) -> ModelOptions:
        """Return the options of a model, by the longest prefix."""
        prefixes = [prefix for prefix in self.models if model.startswith(prefix)]
        return self.models[max(prefixes, key=len)] if prefixes else ModelOptions()

    def may_receive(self, model: str, *names: str) -> bool:
        """Return whether a model may receive the data of a pack and a caller."""
        tags = set(self.of_model(model).tags)
        rules = [self.data[name] for name in {"", *names} if name in self.data]
        return all(tags.issuperset(rule.requires) and tags.isdisjoint(rule.forbids) for rule in rules)
