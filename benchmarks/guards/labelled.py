"""The labelled texts, and the comparison of what detectors find with the marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs

from helmdeck_core import Guard
from helmdeck_guards.plain_text import PlainText, is_json_document

_MARK = re.compile(r"\{\{(\w+)\|(.*?)\}\}")
KINDS = ("email", "iban", "card", "phone", "secret")


@attrs.frozen
class Labelled:
    """One text.

    :ivar spans: kind, start and end of what must be found.
    """

    text: str
    spans: tuple[tuple[str, int, int], ...]


def labelled() -> Sequence[Labelled]:
    """Return the texts in the order of the file."""
    lines = Path(__file__).with_name("labelled.txt").read_text(encoding="utf-8").splitlines()
    return [_read(line.replace("~", "").replace("\\n", "\n")) for line in lines if line and not line.startswith("#")]


def _read(line: str) -> Labelled:
    if line.startswith("-----BEGIN") and "PRIVATE KEY" in line:
        return Labelled(line, (("secret", 0, len(line)),))
    parts, spans, end, at = list[str](), list[tuple[str, int, int]](), 0, 0
    for match in _MARK.finditer(line):
        parts += [line[end : match.start()], match[2]]
        at += match.start() - end
        spans.append((match[1], at, at + len(match[2])))
        at += len(match[2])
        end = match.end()
    return Labelled("".join([*parts, line[end:]]), tuple(spans))


@attrs.define
class Counts:
    """Right, missed and wrong findings by kind, and the texts of the last two."""

    right: Counter[str] = attrs.field(factory=Counter)
    missed: Counter[str] = attrs.field(factory=Counter)
    wrong: Counter[str] = attrs.field(factory=Counter)
    texts: list[str] = attrs.field(factory=list)

    def rates(self, kind: str) -> tuple[float, float]:
        """Return precision and recall."""
        right = self.right[kind]
        return right / max(1, right + self.wrong[kind]), right / max(1, right + self.missed[kind])


def measure(texts: Iterable[Labelled], guards: Sequence[tuple[Guard, Callable[[str], str]]]) -> Counts:
    """Compare findings with marks. A finding is right if it has the kind of a mark and covers it.

    :param guards: guards in their order, with the function that names the kind of a finding.
    """
    counts = Counts()
    for each in texts:
        found = set[tuple[str, int, int]]()
        text = PlainText(each.text, is_json=is_json_document(each.text))
        for guard, kind_of in guards:
            assert guard.find is not None
            spans = [(kind_of(one.kind), *text.span(one.start, one.stop)) for one in guard.find(text.plain)]
            # What a guard found is a placeholder when the next one searches.
            found |= {(kind, a, b) for kind, a, b in spans if all(b <= start or stop <= a for _, start, stop in found)}
        for kind, start, stop in each.spans:
            covering = {
                (k, a, b) for k, a, b in found if k == kind and a <= start and b >= stop and b - a <= stop - start + 2
            }
            counts.right[kind] += bool(covering)
            counts.missed[kind] += not covering
            if not covering:
                counts.texts.append(f"missed {kind}: {each.text}")
            found -= covering
        for kind, start, stop in found:
            counts.wrong[kind] += 1
            counts.texts.append(f"wrong {kind} {each.text[start:stop]!r}: {each.text}")
    return counts
