"""What the context of a running pack offers besides models: the log, the memory and progress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self

from helmdeck_core.redaction import quoted


class PackLogger:
    """Writes log lines of a pack; nothing, unless the application enabled the log.

    :param write: writes a line; takes the level, the message and the facts.

    >>> from helmdeck_core import PackLogger
    >>> lines = []
    >>> PackLogger(lambda level, message, fields: lines.append((level, message, dict(fields)))).info("page read", number=3)
    >>> lines
    [('info', 'page read', {'number': 3})]
    """

    def __init__(self, write: Callable[[str, str, Mapping[str, object]], None]) -> None:
        self._write = write

    def debug(self, message: str, **facts: object) -> None:
        """Write a line that helps to find a mistake."""
        self._log("debug", message, facts)

    def info(self, message: str, **facts: object) -> None:
        """Write a line about the course of the work."""
        self._log("info", message, facts)

    def warning(self, message: str, **facts: object) -> None:
        """Write a line about something that may be wrong."""
        self._log("warning", message, facts)

    def error(self, message: str, **facts: object) -> None:
        """Write a line about a failure that the pack survives."""
        self._log("error", message, facts)

    def _log(self, level: str, message: str, facts: Mapping[str, object]) -> None:
        shown = {key: value if isinstance(value, (int, float)) else quoted(str(value)) for key, value in facts.items()}
        self._write(level, quoted(message), shown)


class PackMemory:
    """Facts of the caller. The packs ``helmdeck.memory_store`` and ``helmdeck.memory_search`` keep and find them.

    :param run: runs a pack.
    """

    def __init__(self, run: Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]) -> None:
        self._run = run

    async def store(self, text: str, **options: Any) -> Mapping[str, Any]:
        """Store a fact; ``options``, output and errors are those of the pack."""
        return await self._run("helmdeck.memory_store", {"text": text, **options})

    async def search(self, query: str = "", **options: Any) -> Sequence[Mapping[str, Any]]:
        """Return the facts that share words with the query, the best match first; the newest facts for an empty query."""
        output = await self._run("helmdeck.memory_search", {"query": query, **options})
        entries: Sequence[Mapping[str, Any]] = output["entries"]
        return entries


class ProgressText(str):
    """A progress message with the finished share of the work.

    :ivar fraction: 0 to 1; ``None`` where it is not known.

    >>> from helmdeck_core import ProgressText
    >>> progress = ProgressText("page 3 of 12", 0.25)
    >>> str(progress), progress.fraction
    ('page 3 of 12', 0.25)
    """

    __slots__ = ("fraction",)
    fraction: float | None

    def __new__(cls, message: str, fraction: float | None = None) -> Self:
        """Make a message; a fraction out of range is brought to the nearest end."""
        text = super().__new__(cls, message)
        text.fraction = None if fraction is None else min(1.0, max(0.0, fraction))
        return text
