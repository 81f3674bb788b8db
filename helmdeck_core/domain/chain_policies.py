"""Chain policies: they decide in which order the models of a fallback chain are called, once per call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.history import HistoryStore
from helmdeck_core.errors import Attempt, Usage

CHAIN_SAMPLE = 200
"""Characters of a request that a policy sees."""


@attrs.frozen(kw_only=True)
class ChainRequest:
    """A call whose models are to be ordered.

    :ivar models: the requested model, then its fallbacks, as configured.
    :ivar pack: the pack that makes the call; empty for a request that the caller wrote.
    :ivar caller: the caller of the pack.
    :ivar answer: the type of the answer: a name such as ``Plan``, ``json``, ``tools``, or ``text``.
    :ivar size_bytes: UTF-8 bytes of the request and its documents, about.
    :ivar catalog_entries: the number of entries of the catalog that the prompt selects from; 0 without one.
    :ivar max_attempts: the limit of attempts of the call; ``None`` for none.
    :ivar sample: the start of the request, from which a policy may read the language. It must not be stored.

    >>> from helmdeck_core import ChainRequest
    >>> ChainRequest(models=("acme/small", "acme/large"), pack="ask", size_bytes=900).models[0]
    'acme/small'
    """

    models: tuple[str, ...]
    pack: str = ""
    caller: str = ""
    answer: str = "text"
    size_bytes: int = 0
    catalog_entries: int = 0
    max_attempts: int | None = None
    sample: str = attrs.field(default="", repr=False)


@attrs.frozen(kw_only=True)
class Hedge:
    """When a second request goes to the next model while the first one runs.

    :ivar after_s: seconds without an answer of the first model; ``None``: no second request for a whole response.
    :ivar take: whether a second request may be sent now; counts it if so.
    :ivar first_token_s: seconds without a token of a streamed response; ``None``: no second request for a stream.
    """

    after_s: float | None
    take: Callable[[], bool]
    first_token_s: float | None = None


@attrs.frozen(kw_only=True)
class ChainOrder:
    """The order in which the models of a call are called.

    :ivar models: the models in order; models that are missing are not called.
    :ivar thresholds: for each model the lowest probability at which an answer is accepted whose probability is known: a choice of a
        chooser, or a value with ``Question.certainty``; empty: the chooser's own, and any value.
    :ivar hedge: a second request, for calls without a cost limit; ``None`` for none.
    :ivar reason: one line for operators.
    :ivar details: plain data behind the order, without texts of the request; reported with the event ``chain_ordered``.
    :ivar state: what the policy needs in ``record``; no other component reads it.
    """

    models: tuple[str, ...]
    thresholds: tuple[float, ...] = ()
    hedge: Hedge | None = attrs.field(default=None, repr=False, eq=False)
    reason: str = ""
    details: Callable[[], Mapping[str, Any]] = attrs.field(default=lambda: EMPTY, repr=False, eq=False)
    state: Any = attrs.field(default=None, repr=False, eq=False)


class ChainPolicy(Protocol):
    """The policy of one deck. Its methods are called from any thread and must not block; ``close`` may."""

    def order(self, request: ChainRequest) -> ChainOrder:
        """Return the order for a call; called once per call of a chain with several models.

        :raises CallFailed: no model of the chain may be called.
        """
        ...

    def explain(self, request: ChainRequest) -> ChainOrder:
        """Return the order for a dry run: without exploration, and nothing is recorded for it.

        :raises CallFailed: as for ``order``.
        """
        ...

    def record(self, order: ChainOrder, attempts: Sequence[Attempt]) -> None:
        """Record the attempts of a call that ended, in order."""
        ...

    def close(self) -> None:
        """Write what waits in memory; idempotent."""
        ...


@attrs.frozen(kw_only=True)
class ChainSetup:
    """What a policy is opened with.

    :ivar options: ``[chains.options]``, as the spec's ``options_type``; ``None`` without one.
    :ivar price: returns the US dollars of some tokens of a model; ``None`` if its price is unknown.
    :ivar open_store: opens the configured history store; ``None`` if none is configured.
    :ivar report: reports a failure of the store.
    """

    options: Any
    price: Callable[[str, Usage], float | None]
    open_store: Callable[[], HistoryStore] | None
    report: Callable[[BaseException], None]


@attrs.frozen(kw_only=True)
class ChainPolicySpec:
    """A kind of chain policy.

    :ivar name: the value of ``policy`` in ``[chains]``; the lowest ``order`` is the default.
    :ivar open: opens the policy of one deck; ``None`` for the configured order, which costs nothing per call.
    :ivar options_type: an attrs class whose fields are the options of the policy.
    """

    name: str
    open: Callable[[ChainSetup], ChainPolicy] | None
    options_type: type[Any] | None = None
    summary: str = ""
    order: int = 0
