"""Metrics of several workers as one text: a scrape reaches any worker, and each one knows those of the others by file."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs

SUMMED_GAUGES: Final = frozenset(("helmdeck_gateway_requests_under_way",))
"""Gauges of which all workers have a part."""
LOWEST_GAUGES: Final = frozenset(("helmdeck_gateway_config_last_reload_successful",))
"""Gauges that show the worker with the lowest value; of all others, the highest value is shown."""
WRITE_S: Final = 2.0
"""Seconds between two writes of a worker."""


class SharedMetrics:
    """The metrics of a worker and, by file, of the others; also what workers counted that have ended.

    :param folder: a folder that only the workers use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{secrets.token_hex(8)}.{os.getpid()}"

    def write(self, own: str) -> None:
        """Let the other workers see the metrics of this one."""
        draft = self._own.with_suffix(".draft")
        with contextlib.suppress(OSError):  # the parent has ended and removed the folder
            draft.write_text(own)
            draft.replace(self._own)

    def merged(self, own: str) -> str:
        """Return the metrics of all workers."""
        texts = [(own, True)]
        for path in sorted(self._folder.glob("*.*")):
            if path != self._own and path.suffix[1:].isdigit():
                with contextlib.suppress(OSError):
                    texts.append((path.read_text(), _is_alive(int(path.suffix[1:]))))
        return merge(texts)


def merge(texts: Iterable[tuple[str, bool]]) -> str:
    """Return metrics in the text format of Prometheus as one text.

    :param texts: metrics of processes, and whether the process is alive; gauges of others do not count.
    """
    families: dict[str, _Family] = {}
    for text, is_alive in texts:
        for family in _read(text):
            families.setdefault(family.name, _Family(family.name, family.head)).add(family, is_alive)
    lines: list[str] = []
    for family in families.values():
        lines += [*family.head, *(f"{series} {_number(value)}" for series, value in family.values.items())]
    return "\n".join(lines) + "\n"


@attrs.define
class _Family:
    """A metric with all its series.

    :ivar head: its lines HELP and TYPE.
    """

    name: str
    head: list[str]
    values: dict[str, float] = attrs.field(factory=dict)

    @property
    def is_gauge(self) -> bool:
        return any(line.startswith("# TYPE") and line.endswith(" gauge") for line in self.head)

    def add(self, other: _Family, is_alive: bool) -> None:
        if self.is_gauge and not is_alive:
            return
        for series, value in other.values.items():
            before = self.values.get(series)
            if before is None:
                self.values[series] = value
            elif self.is_gauge and self.name not in SUMMED_GAUGES:
                self.values[series] = min(before, value) if self.name in LOWEST_GAUGES else max(before, value)
            else:
                self.values[series] = before + value


def _read(text: str) -> Iterator[_Family]:
    family: _Family | None = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            if family is not None:
                yield family
            family = _Family(line.split(" ", 3)[2], [line])
        elif family is not None and line.startswith("#"):
            family.head.append(line)
        elif family is not None and line:
            series, _, value = line.rpartition(" ")
            family.values[series] = float(value)
    if family is not None:
        yield family


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
