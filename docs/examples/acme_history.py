"""A history store in memory, for ``[history] url = "memory:"``."""

import time
from collections import deque

from helmdeck_core import HistoryStoreSpec, hookimpl

DAY_S = 86_400


class Memory:
    """The records of one deck. Its methods are called from any thread; these operations of a deque are thread-safe."""

    def __init__(self, target, keep_days):
        self._keep_s = keep_days * DAY_S
        self._records = deque(maxlen=10_000)

    def add(self, record):
        self._records.appendleft(record)

    def plans(self, caller, limit=100):
        oldest = time.time() - self._keep_s
        found = [record for record in self._records.copy() if record.caller == caller and record.time > oldest]
        return tuple(found[:limit])


@hookimpl
def helmdeck_history_stores():
    """``memory`` is the scheme of the URL; the rest of the URL is the target."""
    return [HistoryStoreSpec(name="memory", open=Memory, summary="lost when the process ends")]
