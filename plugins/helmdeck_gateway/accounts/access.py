"""Who may send requests, and what they may cost: the keys and accounts in the store of a gateway."""

from __future__ import annotations

from collections.abc import Callable

from helmdeck_core import Helmdeck
from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.accounts.keys import StoredKeys
from helmdeck_gateway.accounts.ledger import Ledger
from helmdeck_gateway.accounts.principals import SharedKey
from helmdeck_gateway.calls.call_record import SINK
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.stores import GatewayStore


class Access:
    """The keys and accounts of one gateway.

    :param find_store: returns the store; ``None`` while there is none.
    :param counters: those of keys, which all configurations of one process share.
    :ivar authoriser: finds the sender of a request.
    :ivar ledger: admits and settles the calls of keys.
    """

    def __init__(
        self,
        deck: Helmdeck,
        settings: GatewaySettings,
        find_store: Callable[[], GatewayStore | None],
        counters: KeyCounters,
    ) -> None:
        shared = SharedKey(settings.key) if settings.key is not None else None
        self.authoriser = StoredKeys(find_store, shared, is_required=settings.requires_keys)
        is_tracked = any(sink.value.name == SINK for sink in deck.runtime.sinks)
        self.ledger = Ledger(deck, find_store, counters, is_tracked=is_tracked)

    async def aclose(self) -> None:
        """Settle the calls that were aborted."""
        await self.ledger.aclose()
