"""What English verbs do: read, search, create, change, delete, send, move, run. ``verb_classes.toml`` holds the verbs."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import Final

from helmdeck_language.text.word_files import WordFile


class Action(StrEnum):
    """The class of a verb.

    >>> from helmdeck_language import ACTIONS
    >>> sorted(ACTIONS["remove"])
    [<Action.DELETE: 'delete'>]
    """

    READ = "read"
    SEARCH = "search"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    SEND = "send"
    MOVE = "move"
    RUN = "run"
    PRODUCE = "produce"
    CHANGE = "change"
    GO = "go"
    INPUT = "input"
    BUY = "buy"


_FILE: Final = WordFile.beside(__file__, "verb_classes.toml")


def _actions() -> dict[str, frozenset[Action]]:
    found: dict[str, set[Action]] = defaultdict(set)
    _FILE.table("classes").only(tuple(Action))
    for name, verbs in _FILE.rows("classes").items():
        for verb in verbs.split():
            found[verb].add(Action(name))
    return {verb: frozenset(actions) for verb, actions in found.items()}


ACTIONS: Final = _actions()
"""The classes of each verb; some verbs have two."""

READING: Final = frozenset({Action.READ, Action.SEARCH})
"""Actions that change nothing."""
WRITING: Final = frozenset(
    {Action.CREATE, Action.UPDATE, Action.DELETE, Action.SEND, Action.MOVE, Action.BUY, Action.CHANGE}
)
"""Actions that change something."""
GENERAL: Final = frozenset(_FILE.words("general"))
"""Verbs that can stand for others of their class: "rename" for "move", but not "merge" for "commit"."""
DELETING_WORDS: Final = frozenset(verb for verb, actions in ACTIONS.items() if Action.DELETE in actions)
"""Verbs that delete."""
NOUNS_TOO: Final = frozenset(_FILE.words("nouns_too"))
"""Verbs that are nouns as well: after "and" they start a command only if an object follows."""
