"""The history of plans: opens the configured store at its first use; its failures are only events."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from helmdeck_core.config.types import HistoryConfig
from helmdeck_core.domain.events import HistoryFailed
from helmdeck_core.domain.history import HistoryStore, HistoryStoreSpec, PlanRecord, intent_sha
from helmdeck_core.errors import PluginError
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_guards.redaction import Secrets, url_secrets

U = TypeVar("U")

RETRY_S = 30.0
"""Seconds after which a failed history store is used again."""


class History:
    """The history of one deck."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._lock = threading.Lock()
        self._store: HistoryStore | None = None
        self._disabled_until_s: dict[str | None, float] = {}  # by caller; None for all of them
        self._failures = 0

    def store(self) -> HistoryStore | None:
        """Return the configured store, opening it at the first use; ``None`` when none is configured.

        :raises PluginError: the store cannot be opened.
        """
        if self.runtime.config.history.url is not None and self._store is None:
            with self._lock:
                store = self._store or self._open(self.runtime.config.history)
                if not isinstance(store, PluginError):
                    self._store = store
            if isinstance(store, PluginError):
                raise store  # raised here, where no variable is a URL with a password
        return self._store

    def _open(self, config: HistoryConfig) -> HistoryStore | PluginError:
        scheme, _, target = (config.url or "").partition(":")
        owned = self.runtime.contributed(HistoryStoreSpec)[scheme]
        try:
            return owned.value.open(target, config.keep_days)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            return self._crash(exc)

    def _crash(self, exc: BaseException) -> PluginError:
        """The error for an exception of the store, or of the code that opens it."""
        url = self.runtime.config.history.url or ""
        scheme = url.partition(":")[0]
        return self.runtime.contributed(HistoryStoreSpec)[scheme].crash(f"{scheme}:", exc, Secrets(url_secrets(url)))

    def plans(self, caller: str, limit: int) -> tuple[PlanRecord, ...]:
        """Return a caller's records, newest first; empty when no history is configured.

        :raises PluginError: the store cannot be opened, or failed.
        """
        store = self.store()
        if store is None:
            return ()
        try:
            return tuple(store.plans(caller, limit))
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            failure = self._crash(exc)
        raise failure  # raised here, where the exception is not its context

    async def remember(self, record: PlanRecord) -> None:
        """Store a record in a worker thread; a failure is only an event."""
        await self._use(record.caller, lambda store: store.add(record))

    async def planned_before(self, caller: str, request: str) -> tuple[str, ...]:
        """Return the ids of a caller's earlier plans for the same request, the most frequent first."""
        return await self._use(caller, lambda store: planned_tools(store.plans(caller), intent_sha(request))) or ()

    async def _use(self, caller: str, use: Callable[[HistoryStore], U]) -> U | None:
        if self.runtime.config.history.url is None:
            return None
        now_s, until_s = time.monotonic(), self._disabled_until_s
        if now_s < max(until_s.get(caller, 0.0), until_s.get(None, 0.0)):
            return None

        def call_store() -> tuple[U | None, PluginError | None]:
            # Returned, since a future cannot raise every exception.
            try:
                store = self.store()
                return (None if store is None else use(store)), None
            except PluginError as exc:
                return None, exc
            except BaseException as exc:
                return None, self._crash(exc)

        value, failure = await asyncio.to_thread(call_store)
        if failure is None:
            self._failures = 0
            return value
        # A store that is locked or missing takes seconds to fail; plans must not wait for that every time. What fails for
        # one caller may be its id; when it fails for the next one as well, it is the store.
        self._failures += 1
        end_s = time.monotonic() + RETRY_S
        disabled = {key: until for key, until in until_s.items() if until > now_s}
        self._disabled_until_s = {
            **disabled,
            caller: end_s,
            **({None: end_s} if self._failures > 1 else {}),
        }
        self.runtime.emit(HistoryFailed(caller=caller, detail=failure.detail))
        return None


def planned_tools(records: Iterable[PlanRecord], sha: str) -> tuple[str, ...]:
    """Return the tools of the plans for one request, the most frequent first; of equals, those of the newest plan."""
    tools = (step.tool for record in records if record.intent_sha == sha and not record.cause for step in record.steps)
    return tuple(tool for tool, _ in Counter(tools).most_common())
