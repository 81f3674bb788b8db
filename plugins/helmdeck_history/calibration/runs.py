"""Calibrations from their start to the result: the deck, the log, and what a log has recorded so far."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from helmdeck_cli import single_attempts
from helmdeck_core import BudgetConfig, Entry, Helmdeck, LoadedConfig
from helmdeck_history.calibration.log import (
    VERSION,
    CalibrationLog,
    Header,
    LogMismatch,
    content_hash,
    default_path,
    read_log,
)
from helmdeck_history.calibration.search import SIZES
from helmdeck_history.calibration.session import Calibration, Limits, Outcome


def calibration_deck(loaded: LoadedConfig, model: str) -> Helmdeck:
    """Return a deck whose calls are single attempts without limits of the model's own budget."""
    own = loaded.config.budgets.get(model, BudgetConfig())
    budget = attrs.evolve(own, input_tokens=10_000_000, output_tokens=2_000, max_catalog_bytes=0)
    return Helmdeck(LoadedConfig(single_attempts(loaded.config, model, budget), loaded.origins))


def open_log(
    model: str, entries: Sequence[Entry] = (), path: Path | None = None, *, fresh: bool = False
) -> CalibrationLog:
    """Return the log of a calibration, from which an interrupted one resumes.

    :param entries: entries of a user's catalog that fill the prompts.
    :param path: by default in the data directory.
    :raises LogMismatch: the file is the log of something else.
    :raises OSError: it cannot be read or written.
    """
    content = content_hash([*map(str, SIZES), *(f"{entry.id} {entry.data}" for entry in entries)])
    header = Header(VERSION, model, content, int(datetime.datetime.now(datetime.UTC).timestamp()))
    return CalibrationLog.open(path or default_path(model), header, fresh=fresh)


async def calibrate_model(
    loaded: LoadedConfig,
    model: str,
    *,
    limits: Limits | None = None,
    on_progress: Callable[[Calibration], None] | None = None,
) -> Outcome:
    """Calibrate a model with generated catalogs; what an interrupted run has measured is not measured again.

    :raises LogMismatch: the log in the data directory is that of a calibration with a user's catalog.
    :raises CallFailed: no further trial can succeed, such as without a valid key.
    """
    async with calibration_deck(loaded, model) as deck:
        with open_log(model) as log:
            return await Calibration(deck, model, log, limits=limits or Limits(), on_progress=on_progress).run()


def recorded_calibration(deck: Helmdeck, model: str) -> Outcome | None:
    """Return what the log of a model in the data directory has recorded; ``None`` without one, or if it cannot be read.

    >>> from helmdeck_core import Helmdeck
    >>> from helmdeck_history import recorded_calibration
    >>> with Helmdeck(model="acme/large") as deck:
    ...     print(recorded_calibration(deck, "acme/large"))
    None
    """
    log = read_log(default_path(model))
    if log is None or log.header.model != model or not log.lines:
        return None
    try:
        return Calibration(deck, model, log).outcome()
    except LogMismatch:
        return None
