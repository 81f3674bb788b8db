"""Documents and requests that were written for the segmentation model, in seven languages.

``fit`` is what the model is fitted on; ``held_out`` is never used for that, nor looked at while features are chosen. A file
has one language; a line ``%%% NAME`` starts a document. ``requests.jsonl`` has short requests in many languages, ``requests/fit`` and
``requests/held_out`` longer ones of several lines, ``chinese.json`` a small Chinese catalog with labelled requests.
``conversations`` has whole texts, never fitted on: mails, threads, logs and subtitles with the request between two brackets.
``pasted`` has texts of many kinds in fourteen languages, never fitted on, each with a request that refers to it, and requests that do not.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs

FOLDER = Path(__file__).parent
# The request of a conversation.
_ASKED = re.compile("\u27e6(.*?)\u27e7", re.DOTALL)
OLDER = Path(__file__).resolve().parents[3] / "tests" / "data" / "documents"


@attrs.frozen
class Document:
    """One document.

    :ivar kind: the first word of its name: letter, minutes, code ...
    """

    language: str
    name: str
    text: str

    @property
    def kind(self) -> str:
        """What it is."""
        return self.name.partition("-")[0]


def documents(split: str) -> list[Document]:
    """Return the documents of ``fit``, of ``held_out``, or ``older`` ones, which the tests use."""
    if split == "older":
        return [
            Document("en", path.stem, path.read_text(encoding="utf-8").strip()) for path in sorted(OLDER.glob("*.txt"))
        ]
    return _texts(FOLDER / split)


def _texts(folder: Path) -> list[Document]:
    found = []
    for path in sorted(folder.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("%%% ")[1:]:
            name, _, text = part.partition("\n")
            found.append(Document(path.stem, name, text.strip()))
    return found


def requests() -> list[tuple[str, str]]:
    """Return language and text of every short request."""
    lines = (FOLDER / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["language"], row["text"]) for row in map(json.loads, lines)]


def multiline(split: str) -> list[tuple[str, str]]:
    """Return language and text of the requests of ``fit`` or of ``held_out``, most of which have several lines."""
    return [(each.language, each.text) for each in _texts(FOLDER / "requests" / split)]


def conversations(split: str) -> list[tuple[Document, str]]:
    """Return texts with a conversation and a request, and the requests; a hash of the name picks the half, ``fit`` or ``held_out``."""
    every = [each for each in _texts(FOLDER / "conversations") if half_of(each) == split]
    return [
        (attrs.evolve(each, text=_ASKED.sub(r"\1", each.text)), " ".join(_ASKED.findall(each.text))) for each in every
    ]


def half_of(document: Document) -> str:
    """Return the half of a document that is never fitted on: ``fit`` if its failures may be read, else ``held_out``."""
    name = f"{document.language}:{document.name}"
    return "fit" if sha256(name.encode()).digest()[0] % 2 else "held_out"


Asked = tuple[str, frozenset[str], str]
"""Language, needed tools and text of a request."""


def pasted() -> tuple[list[tuple[Document, str, frozenset[str]]], list[Asked]]:
    """Return texts, each with a request that refers to it and the needed tools; and requests that refer to none of them.

    A line ``[here]`` of a text is a place for a request inside of it.
    """
    lines = (FOLDER / "pasted" / "requests.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ", 2) for line in lines if not line.startswith("#")]
    requests = [(language, frozenset(tools.split()), text) for language, tools, text in rows]
    found = []
    for each in _texts(FOLDER / "pasted"):
        head, _, text = each.text.partition("\n")
        tools, _, own = head.removeprefix("@ ").partition(" | ")
        found.append((attrs.evolve(each, text=text), own, frozenset(tools.split())))
    return found, requests


def chinese() -> tuple[dict[str, Any], list[tuple[str, frozenset[str]]]]:
    """Return the Chinese catalog, and its requests with the tools that each needs."""
    data = json.loads((FOLDER / "chinese.json").read_text(encoding="utf-8"))
    packs = [{"name": name, "description": text} for name, text in data["packs"]]
    return {"packs": packs, "pipelines": []}, [(text, frozenset(needed)) for text, needed in data["requests"]]
