"""The checks of the files of stores: whether they can be written, and who may read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli.checks.findings import Finding, fail, ok, warn
from helmdeck_core import EventSink, data_directory
from helmdeck_storage import driver_mistakes

if TYPE_CHECKING:
    from helmdeck_core import Config

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_stores(config: Config, sinks: Mapping[str, EventSink]) -> Iterator[Finding]:
    """The files of the history and of call traces: whether they can be written, and who may read them.

    :param sinks: the contributed event sinks by name.
    """
    if config.history.url is None or config.history.is_off:
        yield ok("store", "history", "off")
    else:
        scheme, _, target = config.history.url.partition(":")
        if scheme == "sqlite" and not target:
            target = str(data_directory() / "history.db")
        if scheme == "sqlite":
            yield from _check_file("history", target)
        elif missing := driver_mistakes("history.url", config.history.url):
            yield fail("store", "history", missing[0].problem, "install the driver, or choose another store")
        else:
            yield ok("store", "history", f"of kind {scheme!r}; it is opened at the first plan")
    if "traces" not in config.events.sinks:
        yield ok("store", "traces", "not configured")
        return
    defaults: Mapping[str, Any] = sinks["traces"].options if "traces" in sinks else {}
    file = str({**defaults, **config.events.options.get("traces", {})}.get("file", ""))
    if file and file == defaults.get("file"):
        file = str(data_directory() / Path(file).name)
    if file:
        yield from _check_file("traces", file)
    else:
        yield ok("store", "traces", "in memory")


def _check_file(subject: str, target: str) -> Iterator[Finding]:
    path = Path(target).expanduser()
    if not path.exists():
        folder = next(each for each in path.absolute().parents if each.exists())
        if os.access(folder, os.W_OK | os.X_OK) and folder.is_dir():
            yield ok("store", subject, f"{path} is created at the first use")
        else:
            yield fail("store", subject, f"{path} cannot be created: {folder} is not writable", f"chmod u+wx {folder}")
        return
    if path.is_dir():
        yield fail("store", subject, f"{path} is a folder", "name a file in it")
        return
    if not path.is_file() or not os.access(path, os.R_OK | os.W_OK):
        yield fail(
            "store",
            subject,
            f"{path} is not a file that can be read and written",
            f"chmod u+rw {path}, or use another path",
        )
        return
    from helmdeck_storage import sqlite_problem

    if problem := sqlite_problem(path):
        yield fail("store", subject, f"{path}: {problem}", "move the file away; a new one is created")
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & _OTHERS:
        yield warn("store", subject, f"other users may access {path} (mode {mode:o})", f"chmod 600 {path}*")
    else:
        yield ok("store", subject, f"{path}, {path.stat().st_size:,} bytes")
