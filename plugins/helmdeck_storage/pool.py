"""Connections that are reused: each by one thread at a time, and never by a forked process."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from helmdeck_storage.errors import StorageError

WAIT_S = 5.0
"""Seconds to wait for a connection while all of them are in use."""


class Closable(Protocol):
    """A connection."""

    def close(self) -> None:
        """Close the connection."""
        ...


C = TypeVar("C", bound=Closable)


class _Connections(Generic[C]):
    """The connections of one process."""

    def __init__(self, limit: int | None) -> None:
        self.pid = os.getpid()
        self.idle: deque[C] = deque()
        self.free = None if limit is None else threading.BoundedSemaphore(limit)


_INHERITED: list[object] = []
"""Connections of a parent process: neither SQLite nor PostgreSQL allows a forked process to use or close them."""


class ConnectionPool(Generic[C]):
    """Keeps idle connections. Thread-safe; a forked process starts without connections.

    :param connect: returns a new connection.
    :param max_idle: idle connections that are kept.
    :param limit: connections of the process; callers beyond it wait for ``WAIT_S``.
    """

    def __init__(self, connect: Callable[[], C], *, max_idle: int = 4, limit: int | None = None) -> None:
        self._connect = connect
        self._max_idle = max_idle
        self._limit = limit
        self._connections = self._new()

    def _new(self) -> _Connections[C]:
        connections: _Connections[C] = _Connections(self._limit)
        weakref.finalize(self, _close_idle, connections)  # also at the end of the process
        return connections

    def _own(self) -> _Connections[C]:
        if self._connections.pid != os.getpid():
            _INHERITED.append(self._connections)
            self._connections = self._new()
        return self._connections

    def take(self) -> tuple[C, bool]:
        """Return a connection, and whether it is a new one. It must be given back, or discarded.

        :raises StorageError: all connections are in use.
        """
        connections = self._own()
        if connections.free is not None and not connections.free.acquire(timeout=WAIT_S):
            raise StorageError(f"all {self._limit} connections to the store are in use")
        try:
            return connections.idle.pop(), False
        except IndexError:
            pass
        try:
            return self._connect(), True
        except BaseException:
            self._freed(connections)
            raise

    def put(self, connection: C) -> None:
        """Keep a connection for later, unless there are enough idle ones."""
        connections = self._own()
        if len(connections.idle) < self._max_idle:
            connections.idle.append(connection)
            self._freed(connections)
        else:
            self.discard(connection)

    def discard(self, connection: C) -> None:
        """Close a connection."""
        with contextlib.suppress(Exception):
            connection.close()
        self._freed(self._own())

    def close(self) -> None:
        """Close the idle connections; a later use opens others. Those in use are given back and kept."""
        _close_idle(self._own())

    @staticmethod
    def _freed(connections: _Connections[C]) -> None:
        if connections.free is not None:
            with contextlib.suppress(ValueError):  # it was taken before a fork
                connections.free.release()


def _close_idle(connections: _Connections[C]) -> None:
    while connections.pid == os.getpid() and connections.idle:
        with contextlib.suppress(Exception):
            connections.idle.pop().close()
