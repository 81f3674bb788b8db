"""When what has expired is deleted. Expired rows are never returned; deleting them keeps a store small."""

from __future__ import annotations

import itertools
from typing import Final

DAY_S: Final = 86_400.0
"""Seconds of a day."""

PURGE_EVERY: Final = 50
"""Writes of a process between two deletions."""


class PurgeSchedule:
    """Decides which writes of a process also delete what has expired. Thread-safe.

    It is the first one, so that short-lived processes delete too, and after it one of ``every``.

    >>> from helmdeck_storage import PurgeSchedule
    >>> schedule = PurgeSchedule(every=3)
    >>> [schedule.is_due() for _ in range(6)]
    [True, False, False, True, False, False]
    """

    def __init__(self, every: int = PURGE_EVERY) -> None:
        self._every = every
        self._writes = itertools.count()

    def is_due(self) -> bool:
        """Count a write; return whether it is to delete what has expired."""
        return next(self._writes) % self._every == 0
