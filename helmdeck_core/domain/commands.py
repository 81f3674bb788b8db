"""Commands of the command line: the contribution of ``helmdeck_commands``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from helmdeck_core.errors import Mistake


@attrs.frozen(kw_only=True)
class Command:
    """A command of the command line.

    :ivar name: one word, such as ``plan``, or several, such as ``acme sync``; the words before the last one name a group,
        to which several plugins may contribute.
    :ivar summary: one line for the help.
    :ivar configure: adds the arguments of the command to its parser; the runner adds the global options.
    :ivar run: executes the command and returns the exit code; ``arguments.make_deck()`` returns a deck that follows the
        global options. ``helmdeck_core.cli`` and ``helmdeck_cli`` have the functions that print, read input and wait.
    :ivar check: takes the ``Runtime`` and returns the mistakes in the part of the configuration that only the command reads;
        ``helmdeck config check`` reports them.
    :ivar group_summary: one line about the group for its help; the first one that a command of the group gives is shown.
    """

    name: str
    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    group_summary: str = ""
    check: Callable[[Any], Sequence[Mistake]] | None = None
    order: int = 0

    @property
    def group(self) -> str:
        """The name of the group; empty for a command at the top level."""
        return self.name.rpartition(" ")[0]

    def name_problem(self) -> str:
        """Return why the name is invalid; empty if it is valid."""
        words = self.name.split(" ")
        if all(word.isprintable() and word == word.strip() and word and not word.startswith("-") for word in words):
            return ""
        return "a name is one or more words, separated by single spaces, none of which starts with a dash"
