"""Deterministic payloads to truncate: six kinds in three sizes, and one repetitive kind."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import attrs

TEXTS = Path(__file__).parent / "texts"
SIZES = {"small": 1_000, "medium": 10_000, "large": 100_000}

_WORDS = """anchor basin cable deck ebb ferry gauge hull inlet jetty keel ledger mast night oar pier quay rope sluice tide
upstream valve wharf yard zone""".split()


@attrs.frozen
class Payload:
    """A complete response.

    :ivar kind: ``prose``, ``markdown``, ``code``, ``json``, ``list``, ``mixed`` or ``refrain``.
    """

    kind: str
    size: str
    text: str


def payloads() -> Iterator[Payload]:
    """Return all kinds in all sizes."""
    for kind, make in KINDS.items():
        for size, length in SIZES.items():
            yield Payload(kind, size, make(length, random.Random(f"{kind}-{size}")))


def _read(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8")


@cache
def _blocks(name: str) -> tuple[str, ...]:
    """Split into paragraphs; a fenced block is one paragraph."""
    return tuple(re.findall(r"(?:.+\n?)+?(?:(?=\n)|\Z)", _fence_safe(_read(name))))


def _fence_safe(text: str) -> str:
    return re.sub(r"```.*?```", lambda match: match.group().replace("\n\n", "\n"), text, flags=re.DOTALL)


def _varied(block: str, number: int, rng: random.Random) -> str:
    """Vary words and numbers of a block, so that a long text is not a repeated short one."""

    def other(match: re.Match[str]) -> str:
        return f"{match.group()} {rng.choice(_WORDS)}" if rng.random() < 0.12 else match.group()

    if number == 0 or "```" in block or block.startswith("|"):
        return block
    return re.sub(r"[a-zA-Zа-яА-Яα-ωΑ-Ω]{4,}(?= )", other, block)


def _from_file(name: str) -> Callable[[int, random.Random], str]:
    def make(length: int, rng: random.Random) -> str:
        blocks, parts, size, number = _blocks(name), [], 0, 0
        while size < length:
            order = list(blocks) if number == 0 else rng.sample(blocks, len(blocks))
            parts += [_varied(block.rstrip("\n"), number, rng) for block in order]
            size, number = sum(map(len, parts)) + 2 * len(parts), number + 1
        return "\n\n".join(parts)[:length].rstrip() + "\n"

    return make


def _code(length: int, rng: random.Random) -> str:
    parts, number = [_read("code.py.txt")], 1
    methods = re.findall(r"    def .*?(?=\n    def |\n    @|\n\n\nclass |\Z)", parts[0], flags=re.DOTALL)
    while sum(map(len, parts)) < length:
        body = "\n\n".join(rng.sample(methods, 4))
        name = f"{rng.choice(_WORDS).title()}{rng.choice(_WORDS).title()}{number}"
        for word in ("job", "change", "payload", "known", "error"):
            body = re.sub(rf"\b{word}\b", f"{word}_{rng.choice(_WORDS)}", body)
        parts.append(f'class {name}:\n    """The {rng.choice(_WORDS)} of the {rng.choice(_WORDS)}."""\n\n{body}\n\n\n')
        number += 1
    return "\n\n".join(parts)[:length].rstrip() + "\n"


def _sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(words)).capitalize()


def _json(length: int, rng: random.Random) -> str:
    steps: list[dict[str, object]] = []
    while len(text := json.dumps({"steps": steps, "complexity": "pack-chain"}, indent=2, ensure_ascii=False)) < length:
        for _ in range(max(1, (length - len(text)) // 400)):
            steps.append(
                {
                    "order": len(steps) + 1,
                    "tool": f"{rng.choice(_WORDS)}.{rng.choice(_WORDS)}",
                    "args": {
                        "text": f'{_sentence(rng, 9)}, "{rng.choice(_WORDS)}"\n\t{_sentence(rng, 4)}.',
                        "limit": rng.randint(1, 99_999),
                        "tags": rng.sample(_WORDS, 3),
                        "quiet": rng.random() < 0.5,
                    },
                    "rationale": f"{_sentence(rng, 7)}.",
                }
            )
    return text


def _list(length: int, rng: random.Random) -> str:
    lines: list[str] = []
    while sum(map(len, lines)) + len(lines) < length:
        number = len(lines) + 1
        lines.append(
            f"{number}. {_sentence(rng, 3)}: {_sentence(rng, rng.randint(4, 12)).lower()} ({rng.randint(2, 900)})"
        )
    return "\n".join(lines)[:length].rstrip() + "\n"


KINDS: dict[str, Callable[[int, random.Random], str]] = {
    "prose": _from_file("prose.txt"),
    "markdown": _from_file("markdown.md"),
    "code": _code,
    "json": _json,
    "list": _list,
    "mixed": _from_file("mixed.txt"),
    "refrain": _from_file("refrain.txt"),
}
