"""Trials: a catalog of a given size with one expected tool, and a request for it; no two trials are the same.

Every tool is one action on one kind of thing, so that a catalog is full of near-duplicates: the same action on other things, and
other actions on the same thing. Requests paraphrase the action instead of quoting its name or description, since a model that
only matches words would seem reliable with any catalog.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec

from helmdeck_core import Entry

DATA = Path(__file__).with_name("trials.json")

NEAR_SHARE = 0.25
"""Share of a catalog for near-duplicates of the expected tool, before the user's entries."""

SIZE_OF_ALL_NEAR = 36_000
"""Bytes of all near-duplicates of one tool."""

NUMBER = "number"
"""The argument that a successful trial must contain."""


class _Action(msgspec.Struct):
    description: str
    requests: list[str]


class _Words(msgspec.Struct):
    verbs: dict[str, _Action]
    nouns: list[str]
    people: list[str]
    notes: list[str]


@attrs.frozen
class Trial:
    """One trial.

    :ivar catalog: the catalog as JSON, of at most the requested size in bytes.
    :ivar request: the request.
    :ivar tool: the expected tool.
    :ivar number: the value of its argument ``number``, which occurs in no other trial.
    :ivar depth: position of the tool in the catalog, 0 to 1.
    """

    catalog: str
    request: str
    tool: str
    number: str
    depth: float

    def problem(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
        """Return why an answer fails the trial; ``None`` if it passes.

        :param steps: tool and arguments of each step of the answer.
        """
        if not steps:
            return "no_step"
        tool, arguments = steps[0]
        if tool != self.tool:
            return "wrong_tool"
        return None if self.number in json.dumps(arguments) else "wrong_arguments"


class TrialMaker:
    """Makes trials.

    :param entries: entries of a user's catalog, which fill the prompt before generated tools do.
    :param seed: the same seed gives the same trials.
    """

    def __init__(self, entries: Sequence[Entry] = (), seed: int = 0) -> None:
        self._words = msgspec.json.decode(DATA.read_bytes(), type=_Words)
        self._own = tuple(_encoded({"name": entry.id} | dict(entry.data)) for entry in entries)
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._used: set[str] = set()
        self._tools = {
            f"{noun}.{verb}": _encoded(_tool(noun, verb, action.description))
            for noun in self._words.nouns
            for verb, action in self._words.verbs.items()
        }

    def trial(self, size: int) -> Trial:
        """Return a trial with a catalog of at most ``size`` bytes, as full as whole entries allow."""
        rng, words = self._random, self._words
        noun, verb = rng.choice(words.nouns), rng.choice(list(words.verbs))
        expected = f"{noun}.{verb}"
        number = self._number()
        request = rng.choice(words.verbs[verb].requests).format(
            noun=noun, number=number, person=rng.choice(words.people), note=rng.choice(words.notes)
        )
        entries = self._filled(expected, size)
        place = rng.randint(0, len(entries))
        entries.insert(place, self._tools[expected])
        catalog = "[" + ",\n".join(entries) + "]"
        return Trial(catalog, request[0].upper() + request[1:], expected, number, place / max(1, len(entries) - 1))

    def _filled(self, expected: str, size: int) -> list[str]:
        """Entries other than the expected one that fill a catalog."""
        noun, _, verb = expected.partition(".")
        near = [
            name
            for name in self._tools
            if name != expected and (name.startswith(f"{noun}.") or name.endswith(f".{verb}"))
        ]
        is_near = set(near)
        far = [name for name in self._tools if name != expected and name not in is_near]
        self._random.shuffle(near)
        self._random.shuffle(far)
        own = self._random.sample(self._own, len(self._own))
        # Some near-duplicates come first, so that every catalog has them; the user's entries follow.
        first = max(3, int(len(near) * NEAR_SHARE * size / SIZE_OF_ALL_NEAR))
        candidates = [
            *(self._tools[name] for name in near[:first]),
            *own,
            *(self._tools[name] for name in (*near[first:], *far)),
        ]
        left = size - len(self._tools[expected].encode()) - len("[]")
        chosen: list[str] = []
        for entry in candidates:
            cost = len(entry.encode()) + len(",\n")
            if cost <= left:
                chosen.append(entry)
                left -= cost
        self._random.shuffle(chosen)
        return chosen

    def _number(self) -> str:
        while True:
            number = f"{self._random.choice('ABCDEFGHJKLMNPQRSTUVWXYZ')}-{self._random.randrange(10_000, 99_999_999)}"
            if number not in self._used:
                self._used.add(number)
                return number


def _tool(noun: str, verb: str, description: str) -> dict[str, Any]:
    properties = {
        NUMBER: {"type": "string", "description": f"Number of the {noun}, such as B-20417"},
        "person": {"type": "string", "description": "Full name of the person concerned, if there is one"},
        "note": {"type": "string", "description": "Text to keep with the change"},
        "notify": {
            "type": "boolean",
            "description": f"Whether the owner of the {noun} gets a message",
            "default": False,
        },
    }
    schema = {"type": "object", "properties": properties, "required": [NUMBER]}
    return {"name": f"{noun}.{verb}", "description": description.format(noun=noun), "input_schema": schema}


def _encoded(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
