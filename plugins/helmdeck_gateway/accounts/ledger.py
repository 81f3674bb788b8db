"""Admits the calls of keys within their limits, holds what they may cost, and settles what they cost."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import datetime
import math
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from helmdeck_core import ChatDelta, ChatResponse, Helmdeck
from helmdeck_core.log import logger
from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.accounts.keys import unavailable, utc
from helmdeck_gateway.accounts.request_costs import Pricing, Spend, utf8_size
from helmdeck_gateway.accounts.surcharges import Surcharges
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.records import RETRY_S, KeyRecord, Node, Open, Refusal, TeamRecord, to_nusd, to_usd
from helmdeck_gateway.stores.store import AccountStore
from helmdeck_storage import StorageError

LEASE_S: Final = 60.0
"""Seconds after which the calls of a killed worker count as spent and free their places."""

RENEW_S: Final = 15.0
SETTLE_S: Final = 2.0
"""Seconds that a response waits for the settlement of its call; after that, it is settled in the background."""

RETRIES_S: Final = (0.1, 0.5, 2.0, 5.0, 15.0, 30.0)
"""Pauses between attempts to settle; if all of them fail, the end of the lease counts what was held."""

RELEASE_S: Final = 1.0
"""Seconds between two attempts to release calls that a store may have admitted although it reported a failure."""

RELEASES: Final = 3
"""Answers of the store after which a call that it does not know was not admitted; it may be admitted after the first one."""

MAX_RELEASED: Final = 1_000
"""Calls that are remembered until the store answers; it counts the others as spent."""

PROOF_S: Final = 10.0
"""Seconds that calls wait for the first call of a model to show what its calls cost."""

REMEMBERED_S: Final = 1.0
"""Seconds for which a refusal that no other call can change is remembered."""
MAX_REMEMBERED: Final = 4_096

CLOSE_S: Final = 5.0


class Ledger:
    """The calls of keys that are under way in this process.

    :param find_store: returns the store of the accounts.
    :param is_tracked: the events of calls reach the gateway; without them, a call costs its upper estimate.
    """

    def __init__(
        self,
        deck: Helmdeck,
        find_store: Callable[[], AccountStore | None],
        counters: KeyCounters,
        *,
        is_tracked: bool = True,
    ) -> None:
        self.pricing: Pricing = Pricing(deck)
        self.surcharges: Surcharges = Surcharges()
        self.counters = counters
        self.is_tracked = is_tracked
        self._find_store = find_store
        self._open: dict[str, Booking] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._renewal: asyncio.Task[None] | None = None
        self._released: dict[Booking, int] = {}  # and the answers that are still needed
        self._releasing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._unproven: collections.Counter[tuple[str, str]] = collections.Counter()
        self._has_settled = asyncio.Event()
        self._refusals: dict[str, tuple[KeyRecord | TeamRecord, Refusal, float]] = {}

    async def admit(
        self,
        key: KeyRecord,
        model: str,
        tokens: int,
        max_tokens: int | None = None,
        fallbacks: tuple[str, ...] | None = None,
        *,
        teams: Sequence[TeamRecord] = (),
    ) -> Booking:
        """Admit a call, and hold its upper estimate for its key and all teams above it.

        :param model: the model id that is called first.
        :param tokens: a high estimate of the input tokens.
        :param max_tokens: the most output tokens; ``None`` is the limit of the model's budget.
        :param fallbacks: the models that are called after it fails; ``None`` for those of the configuration.
        :param teams: those above the key, from the bottom.
        :raises Problem: a limit is reached, a price is missing, or the store does not answer.
        """
        if key.requires_price and not self.pricing.has_prices(model, fallbacks):
            self.counters.refuse(key.name, "price")
            raise Problem(
                message=f"the key {key.name!r} may only use models with a known price, and {model!r} or a fallback of it has none",
                status=403, kind="permission_error", code="model_not_priced", param="model",
            )  # fmt: skip
        store = self._find_store()
        if store is None:
            raise unavailable(StorageError("no store is configured"))
        own, *moved = key.nodes
        nodes = (own, *(team.node for team in teams), *moved)
        booking = Booking(self, store, key, nodes, tokens, max_tokens)
        await self._prove(booking, model, max_tokens)
        booking.hold(model)
        try:
            result = await store.admit(nodes, booking.open_call, LEASE_S)
        except StorageError as exc:
            self.ended(booking)
            self._release_later(booking)
            raise unavailable(exc) from exc
        except asyncio.CancelledError:
            booking.close()  # it may have been admitted
            raise
        if isinstance(result, Refusal):
            self.ended(booking)
            self.counters.refuse(key.name, result.limit)
            owner = teams[result.place - 1] if result.place else key
            self._remember(key, owner, result)
            raise refusal_problem(owner, result)
        self.counters.admit(key.name)
        booking.left_nusd = result.left_nusd
        self._open[booking.call_id] = booking
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew())
        return booking

    def check(self, key: KeyRecord, teams: Sequence[TeamRecord] = ()) -> None:
        """Check a large request before it is read: whether a call of its key was just refused, and would be again.

        :raises Problem: it would.
        """
        known = self._refusals.get(key.id)
        if known is not None and time.monotonic() < known[2] and (known[0] == key or known[0] in teams):
            self.counters.refuse(key.name, known[1].limit)
            raise refusal_problem(known[0], known[1])

    def _remember(self, key: KeyRecord, owner: KeyRecord | TeamRecord, refusal: Refusal) -> None:
        limits = {"spend_per_day": owner.limits.day_nusd, "spend_per_month": owner.limits.month_nusd}
        # A call that ends may leave room for others, unless all of the limit is spent.
        if refusal.limit == "rate" or refusal.spent_nusd >= (limits.get(refusal.limit) or math.inf):
            if len(self._refusals) >= MAX_REMEMBERED:
                self._refusals.pop(next(iter(self._refusals)))
            until_s = time.monotonic() + min(refusal.retry_after_s, REMEMBERED_S)
            self._refusals[key.id] = (owner, refusal, until_s)

    async def _prove(self, booking: Booking, model: str, max_tokens: int | None) -> None:
        """Let calls of a model begin one by one until one has shown what they cost, where a node might spend too much.

        :raises Problem: none of them has ended in time.
        """
        if not any(node.limits.has_spend for node in booking.nodes) or self.surcharges.is_proven(model):
            return
        nodes = [node for node in booking.nodes if node.limits.has_spend]
        window = to_nusd(self.pricing.window_usd(model, max_tokens))
        for node in nodes:
            place = (node.account, model)
            if not self._unproven[place] or self.surcharges.is_proven(model):
                continue
            left = await self._left_nusd(booking.store, node) - window * self._unproven[place]
            if left < window and not await self._proven(place):
                self.counters.refuse(booking.key.name, "proof")
                raise unproven_problem(booking.key, model)
        if not self.surcharges.is_proven(model):
            booking.unproven = tuple((node.account, model) for node in nodes)
            self._unproven.update(booking.unproven)

    async def _left_nusd(self, store: AccountStore, node: Node) -> int:
        """What the limits of a node leave, apart from what calls under way hold."""
        try:
            usage = await store.usage(node.account)
        except StorageError as exc:
            raise unavailable(exc) from exc
        rows = (node.limits.day_nusd, usage.day), (node.limits.month_nusd, usage.month)
        return min(most - period.spent_nusd for most, period in rows if most is not None)

    async def _proven(self, place: tuple[str, str]) -> bool:
        """Wait until the model is proven, or no call of the node is under way that may prove it."""
        try:
            async with asyncio.timeout(PROOF_S):
                while self._unproven[place] and not self.surcharges.is_proven(place[1]):
                    await self._has_settled.wait()
        except TimeoutError:
            return False
        return True

    def ended(self, booking: Booking) -> None:
        """Release the calls that wait for this one."""
        if booking.unproven:
            self._unproven.subtract(booking.unproven)
            self._unproven += collections.Counter()  # without those that are 0
            booking.unproven = ()
            event, self._has_settled = self._has_settled, asyncio.Event()
            event.set()

    def raised(self, booking: Booking) -> None:
        """Hold more for a call, soon."""
        if booking.call_id in self._open and self._renewal is not None:
            self._renewal.get_loop().call_soon_threadsafe(self._wake.set)

    def settled(self, booking: Booking, cost_nusd: int) -> None:
        """Take note of a settled call."""
        self.ended(booking)
        if self._open.pop(booking.call_id, None) is not None:
            self.counters.spend(booking.key.name, cost_nusd, unpriced=booking.spend.is_unpriced)

    def _release_later(self, booking: Booking) -> None:
        """Release a call whose admission failed: where only the answer was lost, its upper estimate would count as spent."""
        if len(self._released) < MAX_RELEASED:
            self._released[booking] = RELEASES
        if self._releasing is None or self._releasing.done():
            self._releasing = asyncio.create_task(self._release())

    async def _release(self) -> None:
        while self._released:
            await asyncio.sleep(RELEASE_S)
            with contextlib.suppress(StorageError):
                for booking in list(self._released):
                    was_admitted = await booking.store.settle(booking.accounts, booking.call_id, 0)
                    self._released[booking] -= 1
                    if was_admitted or not self._released[booking]:
                        del self._released[booking]

    def in_background(self, action: Coroutine[Any, Any, None]) -> None:
        """Run an action that ``aclose`` waits for."""
        task = asyncio.create_task(action)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Settle what can be settled."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
        for task in (*self._tasks, self._renewal, self._releasing):
            if task is None:
                continue
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _renew(self) -> None:
        """Renew the leases while calls are under way; at once where one holds more."""
        while self._open:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RENEW_S):
                    await self._wake.wait()
            self._wake.clear()
            groups: dict[tuple[int, tuple[str, ...]], list[Booking]] = collections.defaultdict(list)
            for booking in self._open.values():
                booking.raise_held()
                groups[id(booking.store), booking.accounts].append(booking)
            for (_, accounts), bookings in groups.items():
                calls = [each.open_call for each in bookings]
                try:
                    await bookings[0].store.renew(accounts, calls, LEASE_S)
                except Exception as exc:  # a store is a plugin and may raise anything; the next round tries again
                    logger().warning("the leases of {} calls could not be renewed: {}", len(calls), exc)


class Booking:
    """One admitted call.

    :ivar spend: takes note of the events of the call.
    :ivar model: the model that is called first.
    :ivar nodes: the accounts of its key and of the teams above it.
    :ivar open_call: what the store holds for it.
    :ivar left_nusd: what the spend limits left when it was admitted; ``None`` without one.
    :ivar unproven: accounts and model, while calls may wait for it to show what calls of the model cost.
    """

    def __init__(
        self,
        ledger: Ledger,
        store: AccountStore,
        key: KeyRecord,
        nodes: tuple[Node, ...],
        tokens: int,
        max_tokens: int | None,
    ) -> None:
        self.store = store
        self.key = key
        self.nodes = nodes
        self.call_id: str = os.urandom(12).hex()
        self.open_call: Open = Open(self.call_id)
        self.model: str = ""
        self.left_nusd: int | None = None
        self.unproven: tuple[tuple[str, str], ...] = ()
        self.spend: Spend = Spend(ledger.pricing, tokens, max_tokens, lambda: self._raise(), ledger.surcharges)
        self._ledger = ledger
        self._is_settled = False
        self._cost_nusd = 0

    @property
    def accounts(self) -> tuple[str, ...]:
        """The ids of the accounts."""
        return tuple(node.account for node in self.nodes)

    @property
    def left_usd(self) -> float | None:
        """US dollars that the lowest spend limit leaves after this call, or its upper estimate; ``None`` without a limit."""
        if self.left_nusd is None:
            return None
        return to_usd(max(0, self.left_nusd - (self._cost_nusd if self._is_settled else self.open_call.held_nusd)))

    def hold(self, model: str) -> None:
        """Hold the upper estimate of the first attempt."""
        self.model = model
        self.open_call = Open(self.call_id, self.spend.first_nusd(model), self.spend.first_tokens(model))

    def raise_held(self) -> None:
        """Hold what the call may cost by now, if it is more."""
        held, spend = self.open_call, self.spend
        nusd, tokens = max(held.held_nusd, spend.held_nusd), max(held.held_tokens, spend.held_tokens)
        self.open_call = Open(self.call_id, nusd, tokens)

    def _raise(self) -> None:
        held = self.open_call
        if self.spend.held_nusd > held.held_nusd or self.spend.held_tokens > held.held_tokens:
            self._ledger.raised(self)

    async def streamed(self, chunk: Sequence[ChatDelta] | ChatResponse) -> None:
        """Count what the client is about to be sent; the response itself settles the call."""
        if isinstance(chunk, ChatResponse):
            await self.settle()
            return
        for delta in chunk:
            arguments = delta.tool_call.arguments if delta.tool_call is not None else ""
            self.spend.streamed += utf8_size(delta.text) + utf8_size(delta.reasoning_content) + utf8_size(arguments)

    async def settle(self, *, cost_usd: float | None = None, tokens: int | None = None) -> None:
        """Settle the call before its response is complete, so that the next one of the client finds its place free.

        :param cost_usd: the cost, where no events report it.
        :param tokens: the tokens, where no events report them.
        """
        if self._is_settled:
            return
        self._is_settled = True
        cost = self._cost(cost_usd, tokens)
        try:
            async with asyncio.timeout(SETTLE_S):
                await self._book(cost)
        except (StorageError, TimeoutError):
            self._ledger.in_background(self._book_later(cost))
        except asyncio.CancelledError:
            self._ledger.in_background(self._book_later(cost, is_now=True))
            raise

    def close(self) -> None:
        """Settle the call in the background, if it was not settled: it was aborted."""
        if not self._is_settled:
            self._is_settled = True
            self._ledger.in_background(self._book_later(self._cost(), is_now=True))

    def _cost(self, cost_usd: float | None = None, tokens: int | None = None) -> tuple[int, int]:
        """The cost in nano US dollars, and the tokens."""
        held = self.open_call
        if cost_usd is not None:
            self._ledger.surcharges.note(self.model, 0.0, cost_usd)  # the provider counts the same input
            found = to_nusd(cost_usd), held.held_tokens if tokens is None else tokens
        elif not self._ledger.is_tracked:
            found = held.held_nusd, held.held_tokens
        else:
            found = self.spend.final_nusd, self.spend.final_tokens
        self._cost_nusd = found[0]
        return found

    async def _book(self, cost: tuple[int, int]) -> None:
        await self.store.settle(self.accounts, self.call_id, *cost, unpriced=self.spend.is_unpriced)
        self._ledger.settled(self, cost[0])

    async def _book_later(self, cost: tuple[int, int], *, is_now: bool = False) -> None:
        failure: StorageError | None = None
        for pause_s in (0.0, *RETRIES_S) if is_now else RETRIES_S:
            await asyncio.sleep(pause_s)
            try:
                await self._book(cost)
            except StorageError as exc:
                failure = exc
            else:
                return
        logger().error("a call of the key {} could not be settled: {}", self.key.name, failure)
        self._ledger.settled(self, cost[0])


def unproven_problem(key: KeyRecord, model: str) -> Problem:
    """Return the error for a call that waited too long for the first call of its model."""
    message = (
        f"the key {key.name!r} may be near its spend limit, and no call of {model!r} has shown yet what its calls cost"
    )
    return _too_many(message, "spend_limit", {"limit": "proof"}, RETRY_S)


def refusal_problem(owner: KeyRecord | TeamRecord, refusal: Refusal, now_s: float | None = None) -> Problem:
    """Return the error for a call beyond a limit; it names the key or team that has the limit, and its value."""
    limits, is_team = owner.limits, isinstance(owner, TeamRecord)
    who = f"the {'team' if is_team else 'key'} {owner.name!r}"
    resets_s = (time.time() if now_s is None else now_s) + refusal.retry_after_s
    details: dict[str, Any] = {"limit": refusal.limit, **({"team": owner.name} if is_team else {})}
    if refusal.limit == "rate":
        message = f"{who} is limited to {limits.rate:,} requests in {limits.window_s:g} s"
        return _too_many(message, "rate_limit_exceeded", {**details, "value": limits.rate}, refusal.retry_after_s)
    if refusal.limit == "concurrency":
        message = f"{who} is limited to {limits.concurrency:,} requests at a time"
        return _too_many(message, "concurrency_limit", {**details, "value": limits.concurrency}, refusal.retry_after_s)
    if refusal.limit == "tokens_per_minute":
        message = f"{who} is limited to {limits.tokens:,} tokens per minute"
        return _too_many(message, "token_limit", {**details, "value": limits.tokens}, refusal.retry_after_s)
    is_day = refusal.limit == "spend_per_day"
    most = to_usd((limits.day_nusd if is_day else limits.month_nusd) or 0)
    spent, held = to_usd(refusal.spent_nusd), to_usd(refusal.held_nusd)
    details |= {"value": most, "spent_usd": spent, "held_usd": held}
    message = f"{who} is limited to {most:g} US dollars per {'day' if is_day else 'month'}"
    if spent < most:
        message += f"; {spent:.6g} are spent, and requests under way may cost {held:.6g}"
        return _too_many(message, "spend_limit", details, refusal.retry_after_s)
    return Problem(
        message=f"{message}, and {spent:.6g} are spent; the limit resets at {utc(resets_s)}",
        # Clients repeat requests after 429, and some wait for hours in the middle of a task.
        status=402, kind="billing_error", code="spend_limit",
        details={**details, "resets_at": datetime.datetime.fromtimestamp(round(resets_s), datetime.UTC).isoformat()},
    )  # fmt: skip


def _too_many(message: str, code: str, details: dict[str, Any], retry_after_s: float) -> Problem:
    # The header has whole seconds; an earlier retry would be refused again.
    seconds = max(1, -int(-retry_after_s // 1))
    return Problem(
        message=f"{message}; send the request again in {seconds} s",
        status=429, kind="rate_limit_error", code=code, details=details, retry_after_s=seconds, is_worth_retrying=True,
    )  # fmt: skip
