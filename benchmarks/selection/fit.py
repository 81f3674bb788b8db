"""Fits the weights that tell a request from a document: a conditional logit over the layouts of a text.

::

    python -m benchmarks.selection.fit DATA            # print scores on documents and requests that were left out
    python -m benchmarks.selection.fit DATA --write    # fit on all of them and write the weights

``DATA`` is the directory of the labelled requests. Only the weights are written; the text of others is not kept.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import attrs
import numpy as np

from benchmarks.selection.data import load
from benchmarks.selection.documents import Document, chinese, documents, requests
from helmdeck_core import Catalog
from helmdeck_plugins.lexical import cues, layout
from helmdeck_plugins.lexical.index import LexicalIndex
from helmdeck_plugins.lexical.layout import BORDER, LAYOUT, Text
from helmdeck_plugins.lexical.sentences import sentences

WEIGHTS = Path(layout.__file__).with_name("segmentation.json")
JOINTS = ("\n\n", "\n\n", "\n", " ")
LIST_JOINTS = (" ", " ", "\n", "\n", "\n\n", "\n- ")
MODES = ("alone",) * 4 + ("last",) * 7 + ("first",) * 6 + ("around",) * 2 + ("inside",)
# Kinds of documents that ask and command themselves, and announcements, are drawn twice as often.
FREQUENT_KINDS = frozenset(
    {document.kind for document in documents("older")}
    | {"letter", "minutes", "thread", "essay", "announcement", "paste"}
)
RIDGE = 1.0
# A label that misses more of the request than this is useless: no sentence border is where the document begins.
MOST_MISSED = 0.25
NAMES = (*(("request", name) for name in cues.FEATURES), *(("document", name) for name in cues.FEATURES),
         *(("border", name) for name in BORDER), *(("layout", name) for name in LAYOUT))  # fmt: skip

# With unit vectors as weights, the score of a layout is its vector of features.
_UNITS = iter(np.eye(len(NAMES)))
_PARTS: list[Any] = [[next(_UNITS) for _ in names] for names in (cues.FEATURES, cues.FEATURES, BORDER, LAYOUT)]
UNITS = layout.Model(*_PARTS)

Rank = Callable[[Sequence[str]], float]
Array = np.ndarray[Any, Any]


@attrs.frozen
class Source:
    """Requests of one data set, and the relevance to its catalog."""

    name: str
    texts: tuple[str, ...]
    relevance: Rank


@attrs.frozen(eq=False)
class Example:
    """One text: a row of features for each of its layouts, and the probability that each should have."""

    source: str
    document: str
    mode: str
    rows: Array
    target: Array
    request: Array
    widths: Array


def sources(folder: Path) -> list[Source]:
    """Return the requests of every data set and our own."""
    found = []
    for each in load(folder):
        index = LexicalIndex(Catalog.from_data(each.catalog, each.name))
        found.append(Source(each.name, tuple(row["intent"] for row in each.plain), index.relevance))
    own = requests()
    found.append(Source("own-en", tuple(text for language, text in own if language == "en"), found[1].relevance))
    others = tuple(text for language, text in own if language not in ("en", "zh"))
    found.append(Source("own-other", others, found[2].relevance))
    catalog = LexicalIndex(Catalog.from_data(chinese()[0], "chinese"))
    in_chinese = tuple(text for language, text in own if language == "zh")
    found.append(Source("own-zh", in_chinese, catalog.relevance))
    found.append(Source("own-zh-over-en", in_chinese, found[1].relevance))
    return found


def announcements(folder: Path) -> list[Document]:
    """Return the announcements of the developer data."""
    return [Document("en", f"paste-{place}", text) for place, text in enumerate(load(folder)[0].announcements)]


SHARES = {"own-en": 0.5, "own-other": 0.9, "own-zh": 0.3, "own-zh-over-en": 0.2}


def build(many: Sequence[Source], texts: Sequence[Document], count: int, seed: int) -> list[Example]:
    """Make texts at random and compute their features."""
    rng = random.Random(seed)
    shares = [SHARES.get(source.name, 1.0) for source in many]
    weights = [2 if each.kind in FREQUENT_KINDS else 1 for each in texts]
    found: list[Example] = []
    while len(found) < count:
        source = rng.choices(many, shares)[0]
        mode = rng.choice(MODES)
        document = rng.choices(texts, weights)[0]
        whole = document.text
        if rng.random() < 0.04:  # a long text
            whole = "\n\n".join([whole] * rng.randint(2, 25))
        parts = compose(rng, mode, source.texts, whole)
        made = example(parts, source, document if mode != "alone" else Document("", "none", ""), mode)
        if made is not None:
            found.append(made)
    return found


def compose(rng: random.Random, mode: str, own: Sequence[str], document: str) -> list[tuple[str, bool]]:
    """Return strings in order, each with whether it belongs to the request."""
    request = rng.choice(own)
    if mode == "alone":
        joint = rng.choice(LIST_JOINTS)
        while len(request) + sum(char > "\u2e80" for char in request) < 400 or rng.random() < 0.6:
            request += (joint if rng.random() < 0.7 else rng.choice(LIST_JOINTS)) + rng.choice(own)
        return [(request, True)]
    if rng.random() < 0.33:
        request += rng.choice(LIST_JOINTS) + rng.choice(own)
        while rng.random() < 0.4:
            request += rng.choice(LIST_JOINTS) + rng.choice(own)
    document = excerpt(rng, document)
    joint = rng.choice(JOINTS)
    if joint == " " and (document if mode == "last" else request)[-1] not in ".!?\u3002\uff01\uff1f":
        joint = "\n"  # no sentence ends there
    if mode == "last":
        return [(document, False), (joint, False), (request, True)]
    if mode == "first":
        return [(request, True), (joint, False), (document, False)]
    if mode == "around":
        return [(request, True), ("\n\n", False), (document, False), ("\n\n", False), (rng.choice(own), True)]
    places = [place for place in range(len(document)) if document.startswith("\n\n", place)]
    place = rng.choice(places) if places else len(document)
    return [
        (document[:place], False),
        ("\n\n", False),
        (request, True),
        ("\n\n", False),
        (document[place:].strip(), False),
    ]


def excerpt(rng: random.Random, document: str) -> str:
    """Return a document, in one of three cases without its first or last paragraphs."""
    parts = document.split("\n\n")
    if len(parts) > 3 and rng.random() < 0.33:
        cut = rng.randint(1, len(parts) // 2)
        kept = "\n\n".join(parts[cut:] if rng.random() < 0.5 else parts[:-cut])
        return kept if len(kept) > 400 else document
    return document


def example(parts: Iterable[tuple[str, bool]], source: Source, document: Document, mode: str) -> Example | None:
    """Compute the features of a text and its labels; None if no layout is near the true one, or the text is too short."""
    whole, flags = "", []
    for part, is_request in parts:
        whole += part
        flags += [is_request] * len(part)
    found = sentences(whole)
    widths = [layout.width(sentence.text) for sentence in found]
    if sum(widths) < layout.SHORT_TEXT or len(found) < 2:
        return None
    place, wanted = 0, []
    for sentence in found:
        place = max(place, whole.find(sentence.text[:40], place))
        wanted.append(sum(flags[place : place + len(sentence.text)]))
        place += len(sentence.text)
    layouts = Text(found, widths, source.relevance).layouts(UNITS)
    rows = np.array([each.score for each in layouts], dtype=np.float32)
    count = len(found)
    size = np.array([len(sentence.text) for sentence in found], dtype=float)
    asked = np.array(wanted, dtype=float)
    inside: Array = np.zeros((len(layouts), count))
    for row, each in zip(inside, layouts, strict=True):
        row[each.start : each.end] = 1.0
        if each.is_around:
            row[:] = 1.0 - row
    wrong = inside @ (size - asked) + (1.0 - inside) @ asked
    least = wrong.min()
    if least > MOST_MISSED * max(asked.sum(), 1):
        return None
    target = (wrong == least).astype(float)
    return Example(source.name, f"{document.language}:{document.name}", mode, rows, target / target.sum(),
                   asked / size, np.array(widths, dtype=float))  # fmt: skip


def fit(examples: Sequence[Example], ridge: float = RIDGE, steps: int = 12) -> Array:
    """Return the weights of most likelihood, by Newton's method."""
    rows = np.vstack([each.rows for each in examples]).astype(np.float64)
    target = np.concatenate([each.target for each in examples])
    starts = np.cumsum([0, *(len(each.rows) for each in examples)])[:-1]
    groups = np.repeat(np.arange(len(examples)), [len(each.rows) for each in examples])
    weights = np.zeros(rows.shape[1])
    for _ in range(steps):
        share = softmax(rows @ weights, starts, groups)
        means = np.add.reduceat(rows * share[:, None], starts)
        gradient = rows.T @ (target - share) - ridge * weights
        curvature = (rows * share[:, None]).T @ rows - means.T @ means + ridge * np.eye(len(weights))
        change = np.linalg.solve(curvature, gradient)
        weights += change * min(1.0, 3.0 / np.abs(change).max())
        if np.abs(change).max() < 1e-4:
            break
    return weights


def softmax(scores: Array, starts: Array, groups: Array) -> Array:
    """Return the shares of the rows of each group."""
    shares: Array = np.exp(scores - np.maximum.reduceat(scores, starts)[groups])
    return shares / np.add.reduceat(shares, starts)[groups]


def judge(examples: Sequence[Example], weights: Array) -> list[tuple[Example, float]]:
    """Return for each example the share of the probability that its right layouts get."""
    judged = []
    for each in examples:
        scores = each.rows @ weights
        shares = np.exp(scores - scores.max())
        judged.append((each, float((shares / shares.sum()) @ (each.target > 0))))
    return judged


def mean(judged: Sequence[tuple[Example, float]]) -> str:
    """Percent of examples whose right layout has more than half of the probability, and their number."""
    return f"{100 * fmean([share > 0.5 for _, share in judged]):.1f} ({len(judged)})"


def crossed(
    many: Sequence[Source], texts: Sequence[Document], count: int, *, whole_sets: bool
) -> list[tuple[Example, float]]:
    """Fit without a fifth of the documents and one data set, and judge the texts made of both; for each pair of them."""
    examples = build(many, texts, count, 1)
    names = sorted({each.document for each in examples} - {":none"})
    random.Random(2).shuffle(names)
    fold_of = {name: place % 5 for place, name in enumerate(names)}
    folds = [fold_of.get(each.document, place % 5) for place, each in enumerate(examples)]
    sets = sorted({each.source for each in examples}) if whole_sets else [""]
    found = []
    for out in sets:
        for fold in range(5):
            rows = list(zip(examples, folds, strict=True))
            kept = [each for each, own in rows if each.source != out and own != fold]
            left = [each for each, own in rows if out in ("", each.source) and own == fold]
            found += judge(left, fit(kept))
    return found


def table(judged: Sequence[tuple[Example, float]]) -> str:
    """Print the shares by mode, set and document."""
    lines = [f"all {mean(judged)}"]
    for of in ("mode", "source", "document"):
        for name in sorted({getattr(each, of) for each, _ in judged}):
            lines.append(f"{of} {name}: {mean([row for row in judged if getattr(row[0], of) == name])}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Judge what was left out; write the weights where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--count", type=int, default=8_000, help="texts to fit on, 8,000")
    parser.add_argument("--crossed", action="store_true", help="leave documents and data sets out in turn")
    parser.add_argument("--folds", action="store_true", help="leave only documents out, which is faster")
    parser.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    arguments = parser.parse_args(argv)
    many = sources(arguments.data)
    texts = [*documents("fit"), *documents("older"), *announcements(arguments.data)]
    if arguments.crossed or arguments.folds:
        print(table(crossed(many, texts, arguments.count, whole_sets=arguments.crossed)))
        return 0
    weights = fit(build(many, texts, arguments.count, 1))
    print(table(judge(build(many, documents("held_out"), 800, 2), weights)))
    if arguments.write:
        data: dict[str, dict[str, float]] = {}
        for (part, name), weight in zip(NAMES, weights, strict=True):
            data.setdefault(part, {})[name] = round(float(weight), 3)
        WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
