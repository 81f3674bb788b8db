"""Fits the weights that tell a request from a document: a conditional logit over the layouts of a text.

::

    python -m benchmarks.selection.fit DATA            # print scores on documents and requests that were left out
    python -m benchmarks.selection.fit DATA --write    # fit on all of them and write the weights
    python -m benchmarks.selection.fit DATA --turns --write    # keep the weights of texts without turns
    python -m benchmarks.selection.fit DATA --shipped  # score the weights that are there, without a fit

Half of as many texts again are short. The weights of the package are a mean of those of three fits: one of these texts, one of short
texts only, and an earlier one without short texts; each is better on other sets. They are multiplied by ``SHARPNESS``. ``DATA`` is the directory of the labelled requests. Only the weights are written; the text of others is not kept.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import attrs
import numpy as np

from benchmarks.meaning.data import products, statements
from benchmarks.selection.commands import commands
from benchmarks.selection.compose import (
    FOLDS,
    FREQUENT_TRANSCRIPTS,
    MODES,
    TRANSCRIPT,
    TRANSCRIPT_WEIGHT,
    Source,
    compose,
    fold_of,
    pasted,
    weight_of,
)
from benchmarks.selection.data import DataSet, load
from benchmarks.selection.documents import Document, chinese, documents, half_of, multiline, requests
from benchmarks.selection.documents import pasted as pasted_texts
from benchmarks.selection.documents.dialogues import dialogues
from benchmarks.selection.transcripts import own_asks
from helmdeck_core import Catalog
from helmdeck_language.request import cues, layout
from helmdeck_language.request.borders import BORDER
from helmdeck_language.request.layout import Text
from helmdeck_language.request.model import LAYOUT, Model, model
from helmdeck_language.request.sentences import copies, sentences
from helmdeck_language.request.turn_layouts import TURN_LAYOUT
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex

WEIGHTS = Path(layout.__file__).with_name("segmentation.json")
RIDGE = 1.0
# A reading is right where the right layout has most of the probability, and weights of most likelihood spread it over similar layouts.
# More than 1.4 times these weights rank worse beside announcements without turns: words of doubtful sentences are lost.
SHARPNESS = {"plain": 1.4, "turns": 2.0}
# Layouts with a smaller probability do not count in a step, and the last step adds less to the logarithm of the likelihood.
NEGLIGIBLE, LEAST_GAIN = 1e-5, 0.1
# A label that misses more of the request than this is useless: no sentence border is where the document begins.
MOST_MISSED = 0.25
NAMES = (*(("request", name) for name in cues.FEATURES), *(("document", name) for name in cues.FEATURES),
         *(("alone", name) for name in cues.FEATURES), *(("border", name) for name in BORDER), *(("layout", name) for name in LAYOUT),
         *(("turns", name) for name in TURN_LAYOUT))  # fmt: skip

# With unit vectors as weights, the score of a layout is its vector of features.
_UNITS = iter(np.eye(len(NAMES)))
_PARTS: list[Any] = [[next(_UNITS) for _ in names] for names in (*[cues.FEATURES] * 3, BORDER, LAYOUT, TURN_LAYOUT)]
UNITS = Model(*_PARTS)

Array = np.ndarray[Any, Any]


@attrs.frozen(eq=False)
class Example:
    """One text: a row of features for each of its layouts, and the probability that each should have."""

    source: str
    document: str
    fold: int
    mode: str
    has_turns: bool
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
        found += small_catalogs(each)
    found += spoken()
    own, lines = requests(), multiline("fit")
    metatool = next(each for each in found if each.name.startswith("metatool"))
    catalog = LexicalIndex(Catalog.from_data(chinese()[0], "chinese"))
    for language in dict.fromkeys(language for language, _ in [*own, *lines]):
        texts = tuple(text for each, text in [*own, *lines] if each == language and "\n" not in text)
        several = tuple(text for each, text in [*own, *lines] if each == language and "\n" in text)
        found.append(Source(f"own-{language}", texts or several, metatool.relevance, language, several))
        if language == "zh":
            found.append(Source("own-zh-over-zh", texts, catalog.relevance, language, several))
    for language in SPOKEN_LANGUAGES:
        texts = tuple(each.text for each in commands(language, held_out=False))
        found.append(Source(f"own-{language}", texts, metatool.relevance, language))
    found += pointing(metatool.relevance)
    every = tuple(text for language, text in lines if language == "en")
    return [attrs.evolve(each, lines=each.lines or every) if each.language == "en" else each for each in found]


def small_catalogs(each: DataSet, tools: int = 10, count: int = 3) -> list[Source]:
    """Return sources with a few tools of a data set, and the requests that need no others."""
    rng = random.Random(4)
    packs = {pack["name"]: pack for pack in each.catalog["packs"]}
    found = []
    for number in range(count):
        names: set[str] = set()
        while len(names) < tools:
            names.update(rng.choice(each.plain)["gold"])
        catalog = {"packs": [packs[name] for name in sorted(names)], "pipelines": []}
        texts = tuple(row["intent"] for row in each.plain if names.issuperset(row["gold"]))
        index = LexicalIndex(Catalog.from_data(catalog, each.name))
        found.append(Source(f"{each.name} small {number}", texts, index.relevance))
    return found


def spoken(count: int = 8, size: int = 12) -> list[Source]:
    """Return catalogs of many products with what people say for their tools: terse, in several sentences, beside what they tell.

    :param size: the number of products in a catalog.
    """
    rng = random.Random(8)
    every, told = products(), list(statements().values())
    found = []
    for number in range(count):
        chosen = rng.sample(every, size)
        entries = {entry.id: entry for each in chosen for entry in each.catalog(number).entries}
        texts = [text for each in chosen for tool in each.tools for text in tool.requests]
        for text in rng.sample(texts, len(texts) // 2):
            both = [_as_sentence(rng.choice(rng.choice(told))), _as_sentence(text)]
            texts.append(" ".join(both if rng.random() < TOLD_FIRST else both[::-1]))
        found.append(Source(f"{SPOKEN} {number}", tuple(texts), LexicalIndex(Catalog(entries.values())).relevance))
    return found


def pointing(relevance: Callable[[Sequence[str]], float]) -> list[Source]:
    """Return the requests that refer to the text beside them, by language, of the half whose failures may be read."""
    rows = [(document.language, text) for document, text, _ in pasted_texts()[0] if half_of(document) == "fit"]
    return [
        Source(f"pointing-{language}", tuple(text for each, text in rows if each == language), relevance, language)
        for language in dict.fromkeys(language for language, _ in rows)
    ]


def _as_sentence(text: str) -> str:
    return text if text[-1] in ".!?" else f"{text}."


def announcements(folder: Path) -> list[Document]:
    """Return the announcements of the developer data, and the example of the documentation."""
    example = Path(__file__).resolve().parents[2] / "docs" / "examples" / "announcement.txt"
    return [Document("en", "announcement-example", example.read_text(encoding="utf-8").strip())] + [
        Document("en", f"paste-{place}", text) for place, text in enumerate(load(folder)[0].announcements)
    ]


def forms() -> list[Document]:
    """Return the texts of many kinds whose failures may be read, without the place for a request inside of them."""
    return [
        attrs.evolve(each, text=each.text.replace("[here]\n", ""))
        for each, *_ in pasted_texts()[0]
        if half_of(each) == "fit"
    ]


def transcripts(folder: Path, split: str) -> list[Document]:
    """Return transcripts in which people ask for what a user could ask for."""
    asks = own_asks(split)
    asks["en"] = [*asks.get("en", ()), *(row["intent"] for each in load(folder) for row in each.plain[1::2])]
    return [Document(language, f"{TRANSCRIPT}-{name}", text) for language, name, text in dialogues(split, asks)]


# So many documents are in the language of the request, beside those that are by chance.
SAME_LANGUAGE = 0.6
# Statements beside requests are in front of so many of them.
SPOKEN, TOLD_FIRST = "spoken", 0.7
# Other data sets have the share 1.
SMALL_SHARE, SPOKEN_SHARE, POINTING_SHARE = 0.3, 0.6, 0.05
SPOKEN_LANGUAGES = ("it", "ko", "nl", "pl", "pt", "ru", "tr")
SHARES = {
    "bfcl-multiturn-dev": 1.6, "metatool-dev": 1.6, "taskbench-multimedia-silver": 1.3,
    "own-en": 0.6, "own-de": 0.35, "own-fr": 0.35, "own-es": 0.35, "own-ja": 0.4, "own-zh": 0.5, "own-zh-over-zh": 0.7,
    "own-ar": 0.15, "own-th": 0.2, "own-ko": 0.15, "pointing-en": 0.6,
    **dict.fromkeys((f"own-{language}" for language in ("it", "nl", "pl", "pt", "ru", "tr")), 0.15),
}  # fmt: skip


def more_turns(many: Sequence[Source], texts: Sequence[Document], count: int) -> list[Example]:
    """Return half as many examples again, of texts with turns only."""
    return [each for each in build(many, texts, count // 2, 7, FREQUENT_TRANSCRIPTS) if each.has_turns]


def build(
    many: Sequence[Source],
    texts: Sequence[Document],
    count: int,
    seed: int,
    transcripts: float = TRANSCRIPT_WEIGHT,
    *,
    is_short: bool = False,
) -> list[Example]:
    """Make texts at random and compute their features.

    :param is_short: the texts are short, and more of their documents are in the language of the request.    :param transcripts: how often a transcript is drawn.
    """
    rng = random.Random(seed)
    shares = [_share(source.name) for source in many]
    weights = [weight_of(each, transcripts) for each in texts]
    found: list[Example] = []
    while len(found) < count:
        source = rng.choices(many, shares)[0]
        mode = rng.choice(MODES)
        among = _near(rng, source, texts, weights) if is_short else (texts, weights)
        document, whole = pasted(rng, *among, is_short=is_short)
        others = [each for each in texts if fold_of(each) == fold_of(document)]
        parts = compose(rng, mode, source, whole, rng.choice(others).text, is_short=is_short)
        made = example(parts, source, document if mode != "alone" else Document("", "none", ""), mode)
        if made is not None:
            found.append(made)
    return found


def _near(
    rng: random.Random, source: Source, texts: Sequence[Document], weights: Sequence[float]
) -> tuple[Sequence[Document], Sequence[float]]:
    """Return all documents, or in some cases those in the language of the requests, with their weights."""
    if rng.random() < SAME_LANGUAGE:
        rows = [row for row in zip(texts, weights, strict=True) if row[0].language[:2] == source.language]
        if rows:
            return [row[0] for row in rows], [row[1] for row in rows]
    return texts, weights


def _share(source: str) -> float:
    others = SMALL_SHARE if " small " in source else SPOKEN_SHARE if source.startswith(SPOKEN) else 1.0
    others = POINTING_SHARE if source.startswith("pointing") else others
    return SHARES.get(source, others)


def example(parts: Iterable[tuple[str, bool]], source: Source, document: Document, mode: str) -> Example | None:
    """Compute the features of a text and its labels; None if no layout is near the true one, or the text is too short."""
    whole, flags = "", []
    for part, is_request in parts:
        whole += part
        flags += [is_request] * len(part)
    found = sentences(whole)
    widths = [layout.width(sentence.text) for sentence in found]
    if layout.is_short(found, widths) or copies(found) or any(each.is_unread for each in found):
        return None
    place, wanted = 0, []
    for sentence in found:
        place = max(place, whole.find(sentence.text[:40], place))
        wanted.append(sum(flags[place : place + len(sentence.text)]))
        place += len(sentence.text)
    text = Text(found, widths, source.relevance)
    layouts = text.layouts(UNITS)
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
    return Example(source.name, f"{document.language}:{document.name}", fold_of(document), mode, bool(text.turns.inside), rows, target / target.sum(),
                   asked / size, np.array(widths, dtype=float))  # fmt: skip


def fit(every: Sequence[Example], more: Sequence[Example] = (), plain: Array | None = None) -> dict[str, Array]:
    """Return the weights of texts without turns and of texts with turns; the latter are near the former.

    :param more: examples with turns; only the weights of texts with turns are fitted on them.
    :param plain: the weights of texts without turns, to keep.
    """
    plain = _fit(every, np.zeros(len(NAMES))) if plain is None else plain
    return {"plain": plain, "turns": _fit([each for each in (*every, *more) if each.has_turns], plain)}


def _fit(examples: Sequence[Example], center: Array, steps: int = 30) -> Array:
    """Return the weights of most likelihood, by Newton's method; a step that lowers the likelihood is halved."""
    rows = np.vstack([each.rows for each in examples])
    target = np.concatenate([each.target for each in examples])
    starts = np.cumsum([0, *(len(each.rows) for each in examples)])[:-1]
    groups = np.repeat(np.arange(len(examples)), [len(each.rows) for each in examples])

    def judged(weights: Array) -> tuple[float, Array]:
        share = softmax(rows @ weights.astype(np.float32), starts, groups)
        moved = weights - center
        return float(target @ np.log(np.maximum(share, 1e-30)) - RIDGE / 2 * moved @ moved), share

    weights = center
    best, share = judged(weights)
    for _ in range(steps):
        # Most layouts soon have hardly any probability.
        kept = np.flatnonzero((share > NEGLIGIBLE) | (target > 0))
        own, shares = rows[kept].astype(np.float64), share[kept]
        means = np.add.reduceat(own * shares[:, None], np.searchsorted(kept, starts))
        gradient = own.T @ (target[kept] - shares) - RIDGE * (weights - center)
        curvature = (own * shares[:, None]).T @ own - means.T @ means + RIDGE * np.eye(len(weights))
        change = np.linalg.solve(curvature, gradient)
        made, shares = judged(weights + change)
        for _ in range(7):
            if made > best:
                break
            change = change / 2
            made, shares = judged(weights + change)
        weights, gain, best, share = weights + change, made - best, made, shares
        if gain < LEAST_GAIN:
            break
    return weights


def shipped() -> dict[str, Array]:
    """Return the weights of the data file, in the order of ``NAMES``."""
    models = {"plain": model(with_turns=False), "turns": model(with_turns=True)}
    return {name: np.array([*made.request, *made.document, *made.alone, *made.border, *made.layout, *made.turns])
            for name, made in models.items()}  # fmt: skip


def softmax(scores: Array, starts: Array, groups: Array) -> Array:
    """Return the shares of the rows of each group."""
    shares: Array = np.exp(scores - np.maximum.reduceat(scores, starts)[groups])
    return shares / np.add.reduceat(shares, starts)[groups]


def judge(examples: Sequence[Example], weights: Mapping[str, Array]) -> list[tuple[Example, float]]:
    """Return for each example the share of the probability that its right layouts get."""
    judged = []
    for each in examples:
        scores = each.rows @ weights["turns" if each.has_turns else "plain"]
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
    every, more = build(many, texts, count, 1), more_turns(many, texts, count)
    folds = [each.fold if each.mode != "alone" else place % FOLDS for place, each in enumerate(every)]
    sets = sorted({each.source for each in every}) if whole_sets else [""]
    found = []
    for out in sets:
        for fold in range(FOLDS):
            rows = list(zip(every, folds, strict=True))
            kept = [each for each, own in rows if each.source != out and own != fold]
            left = [each for each, own in rows if out in ("", each.source) and own == fold]
            found += judge(left, fit(kept, [each for each in more if each.source != out and each.fold != fold]))
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
    parser.add_argument("--count", type=int, default=9_000, help="texts to fit on, 9,000")
    parser.add_argument("--crossed", action="store_true", help="leave documents and data sets out in turn")
    parser.add_argument("--folds", action="store_true", help="leave only documents out, which is faster")
    parser.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    parser.add_argument("--turns", action="store_true", help="fit only the weights of texts with turns")
    parser.add_argument("--shipped", action="store_true", help=f"judge the weights in {WEIGHTS.name}")
    arguments = parser.parse_args(argv)
    many = sources(arguments.data)
    texts = [
        *documents("fit"),
        *documents("older"),
        *forms(),
        *announcements(arguments.data),
        *transcripts(arguments.data, "fit"),
    ]
    if arguments.crossed or arguments.folds:
        print(table(crossed(many, texts, arguments.count, whole_sets=arguments.crossed)))
        return 0
    weights = shipped()
    if not arguments.shipped:
        every = build(many, texts, arguments.count, 1)
        every += build(many, texts, arguments.count // 2, 11, is_short=True)
        kept = weights["plain"] / SHARPNESS["plain"] if arguments.turns else None
        made = fit(every, more_turns(many, texts, arguments.count), kept)
        weights = {kind: SHARPNESS[kind] * each for kind, each in made.items()}
    print(table(judge(build(many, documents("held_out"), 800, 2), weights)))
    judged = judge(build(many, transcripts(arguments.data, "held_out"), 400, 3), weights)
    print(f"transcripts {mean([row for row in judged if row[0].mode != 'alone'])}")
    if arguments.write and not arguments.shipped:
        data: dict[str, dict[str, dict[str, float]]] = {"plain": {}, "turns": {}}
        for kind, parts in data.items():
            for (part, name), weight in zip(NAMES, weights[kind], strict=True):
                if kind == "turns" or part != "turns":
                    parts.setdefault(part, {})[name] = round(float(weight), 3)
        WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
