"""Starts the command line; nothing else is imported before an interrupt is handled."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""``ExitCode.INTERRUPTED``, whose module takes most of the start."""


COLLECT_AFTER = 300_000
"""New objects until a collection of garbage: modules and classes, which a collection never frees, are 100,000 to 150,000."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code. It raises nothing.

    :param argv: the words behind ``helmdeck``; those of the process by default.

    >>> from helmdeck_core.cli import main
    >>> main(["decode", "no-such-file"])
    2
    """
    try:
        if argv is None:  # the process is that of the command
            gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
            # The collections at the end of the process would take a quarter of the time of a command.
            atexit.register(gc.freeze)
        from helmdeck_core.cli import runner

        return runner.main(argv)
    except KeyboardInterrupt:  # while modules are imported, or before or after the handlers of the runner
        sys.stderr.write("helmdeck: interrupted\n")
        return INTERRUPTED
