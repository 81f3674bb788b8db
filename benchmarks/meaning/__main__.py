"""Trains the model on all products of ``ways``, or on some and measures the others.

::

    pip install torch wordfreq 'helmdeck[vectors]'
    python -m benchmarks.meaning                # how often the right tool is first, on products that were not trained on
    python -m benchmarks.meaning --write        # train on all of them, and write plugins/helmdeck_selection/meaning

A request is compared with all tools of its product, each as one of its vendors describes it, and with some of other products. The vectors of
words start from those of a multilingual sentence encoder for the commonest English words, reduced by a principal component
analysis, so that words that occur in no request mean something as well.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import attrs
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import helmdeck_selection
from benchmarks.meaning.data import Product, products, training_options
from helmdeck_language import scan, stem
from helmdeck_selection import read_catalog
from helmdeck_selection.meaning.features import entry_features, request_features, with_pairs
from helmdeck_selection.vectors.sources import local_source

FOLDER = Path(helmdeck_selection.__file__).parent / "meaning"
SIZE = 96
# Commonest English words whose vectors a text starts from, and those that are written without having been trained.
_WORDS, _WRITTEN = 30_000, 16_000
# A pair of words gets a vector if so many requests have it.
_PAIRS = 3
_ROUNDS = 14
_FAMILIES = 6
_REQUESTS = 32
_OTHERS = 40
_RATE = 0.003
_DROPPED = 0.4
_PENALTY = 1e-4
_NEVER = -1e4
# How much a request counts whose right tool is missing.
_MISSING = 0.25
# Tools of other products that are as close as this to the right one may do the same.
_SAME = 0.6


@attrs.frozen
class Concept:
    """What a tool does, as features: its descriptions by several vendors, and requests for it."""

    tools: Sequence[tuple[list[str], list[str], list[str]]]
    requests: Sequence[list[str]]


def concepts(product: Product) -> list[Concept]:
    """Return what the model reads of a product."""
    return [
        Concept(
            [entry_features(read_catalog([each], product.name).entries[0]) for each in tool.vendors],
            [request_features(scan(text)) for text in tool.requests],
        )
        for tool in product.tools
    ]


@attrs.frozen
class Vocabulary:
    """The features, the vectors they start from, and how rare they are: 0 for the commonest word, 1 for a rare one."""

    places: dict[str, int]
    start: torch.Tensor
    rarity: torch.Tensor
    written: frozenset[str]


def vocabulary(found: Sequence[Sequence[Concept]]) -> Vocabulary:
    """Collect the features of requests and tools, and the words of the encoder."""
    from wordfreq import top_n_list

    words = [word for word in top_n_list("en", 2 * _WORDS) if word.isalpha() and word.isascii() and len(word) > 1][
        :_WORDS
    ]
    vectors = np.asarray(local_source().embed(words))
    by_stem: dict[str, list[int]] = defaultdict(list)
    for rank, word in enumerate(words):
        by_stem[stem(word)].append(rank)
    rows = np.stack(
        [(vectors[ranks] / np.sqrt(np.arange(1, len(ranks) + 1))[:, None]).sum(0) for ranks in by_stem.values()]
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows -= rows.mean(0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ranks = np.array([min(found) for found in by_stem.values()])
    _, _, components = np.linalg.svd(rows[np.argsort(ranks)[:12_000]], full_matrices=False)
    start = rows @ components[:SIZE].T
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    single: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for concept in (concept for family in found for concept in family):
        for request in concept.requests:
            single.update(set(request))
            pairs.update(set(with_pairs(request)[len(request) :]))
        for tool in concept.tools:
            single.update({feature for field in tool for feature in field})
    more = [feature for feature, count in single.items() if feature not in by_stem and count >= 2]
    more += [feature for feature, count in pairs.items() if count >= _PAIRS]
    features = [*by_stem, *more]
    rarity = np.log1p([*ranks, *[20_000] * len(more)]) / np.log(20_000)
    return Vocabulary(
        {feature: place for place, feature in enumerate(features, 1)},
        torch.tensor(np.vstack([np.zeros((1, SIZE)), start, np.zeros((len(more), SIZE))]), dtype=torch.float32),
        torch.tensor([0.0, *np.clip(rarity, 0.05, 1.0)], dtype=torch.float32),
        frozenset(single)
        | set(more)
        | {feature for feature, rank in zip(by_stem, ranks, strict=True) if rank < _WRITTEN},
    )


class Towers(nn.Module):
    """The vectors of features, as a difference from those they start from, and the weights of the fields of a tool."""

    def __init__(self, known: Vocabulary) -> None:
        super().__init__()
        self.known = known
        self.change = nn.Embedding(len(known.start), SIZE, padding_idx=0)
        self.weight = nn.Embedding(len(known.start), 1, padding_idx=0)
        nn.init.zeros_(self.change.weight)
        nn.init.zeros_(self.weight.weight)
        self.fields = nn.Parameter(torch.tensor([1.0, 0.0, -1.0]))
        self.scale = nn.Parameter(torch.tensor(2.5))
        self.none = nn.Parameter(torch.tensor(4.0))

    def vectors(self, places: torch.Tensor) -> torch.Tensor:
        """Return the weighted vectors of features."""
        weight = self.known.rarity[places] * torch.exp(self.weight(places).squeeze(-1))
        return (self.known.start[places] + self.change(places)) * weight[..., None]

    def _sum(self, texts: Sequence[Sequence[str]], *, drop: bool) -> torch.Tensor:
        rows = [[self.known.places[each] for each in text if each in self.known.places] or [0] for text in texts]
        longest = max(map(len, rows))
        places = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        found = self.vectors(places)
        if drop and self.training:
            found = found * (torch.rand(places.shape) > _DROPPED)[..., None]
        return functional.normalize(found.sum(1), dim=-1)

    def requests(self, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """Return a vector for each request."""
        return self._sum([with_pairs(text) for text in texts], drop=True)

    def tools(self, tools: Sequence[tuple[list[str], list[str], list[str]]]) -> torch.Tensor:
        """Return a vector for each tool."""
        names, descriptions, inputs = zip(*tools, strict=True)
        weights = torch.exp(self.fields)
        total = weights[0] * self._sum([with_pairs(text) for text in names], drop=False)
        total = total + weights[1] * self._sum([with_pairs(text) for text in descriptions], drop=True)
        return functional.normalize(total + weights[2] * self._sum(inputs, drop=True), dim=-1)


def train(found: Sequence[Sequence[Concept]], known: Vocabulary, rounds: int = _ROUNDS) -> Towers:
    """Fit the vectors to the requests."""
    random.seed(1)
    torch.manual_seed(1)
    towers = Towers(known)
    optimizer = torch.optim.Adam(towers.parameters(), lr=_RATE)
    for turn in range(rounds):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * (1 - turn / rounds)
        total = count = 0.0
        for batch in _batches(found):
            loss = _loss(towers, found, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + float(loss.detach()), count + 1
        print(f"round {turn + 1} of {rounds}: loss {total / count:.3f}", flush=True)
    return towers


def _batches(found: Sequence[Sequence[Concept]]) -> list[list[tuple[int, int, int]]]:
    """Return requests in batches of some products: the places of product, concept and request."""
    pieces = []
    for product, family in enumerate(found):
        rows = [(product, place, each) for place, concept in enumerate(family) for each in range(len(concept.requests))]
        random.shuffle(rows)
        pieces += [rows[start : start + _REQUESTS] for start in range(0, len(rows), _REQUESTS)]
    random.shuffle(pieces)
    starts = range(0, len(pieces), _FAMILIES)
    return [list(chain.from_iterable(pieces[start : start + _FAMILIES])) for start in starts]


def _loss(towers: Towers, found: Sequence[Sequence[Concept]], batch: list[tuple[int, int, int]]) -> torch.Tensor:
    products = sorted({product for product, _, _ in batch})
    others = [each for each in random.sample(range(len(found)), min(_OTHERS, len(found))) if each not in products]
    choices = [(product, place) for product in products for place in range(len(found[product]))]
    choices += [(product, random.randrange(len(found[product]))) for product in others]
    requests = towers.requests([found[product][place].requests[each] for product, place, each in batch])
    tools = towers.tools([random.choice(found[product][place].tools) for product, place in choices])
    right = torch.tensor([choices.index(row[:2]) for row in batch])
    scores = requests @ tools.T * torch.exp(towers.scale)
    with torch.no_grad():
        product_of = torch.tensor([product for product, _ in choices])
        is_other = product_of[None, :] != product_of[right][:, None]
        is_same = (tools @ tools.T)[right] > _SAME
    scores = scores.masked_fill(is_other & is_same, _NEVER)
    # One more choice is that no tool fits, which is right where the right tool is missing.
    none = towers.none.expand(len(batch), 1)
    loss = functional.cross_entropy(torch.cat([scores, none], 1), right)
    is_right = functional.one_hot(right, len(choices)).bool()
    missing = torch.cat([scores.masked_fill(is_right, _NEVER), none], 1)
    loss = loss + _MISSING * functional.cross_entropy(missing, torch.full_like(right, len(choices)))
    used = torch.unique(
        torch.tensor(
            [
                towers.known.places.get(each, 0)
                for product, place, at in batch
                for each in with_pairs(found[product][place].requests[at])
            ]
        )
    )
    return loss + _PENALTY * (towers.change(used) ** 2).sum()


def first_share(towers: Towers, found: Sequence[Sequence[Concept]]) -> float:
    """Return how often the right tool of a product is the closest, over the vendors of each."""
    towers.eval()
    right = total = 0
    with torch.no_grad():
        for family in found:
            requests = towers.requests([request for concept in family for request in concept.requests])
            own = torch.tensor([place for place, concept in enumerate(family) for _ in concept.requests])
            for vendor in range(3):
                tools = towers.tools([concept.tools[vendor % len(concept.tools)] for concept in family])
                right += int((((requests @ tools.T).argmax(1)) == own).sum())
                total += len(own)
    towers.train()
    return right / total


def write(towers: Towers, folder: Path = FOLDER) -> None:
    """Write the files that ``helmdeck_selection.meaning`` reads."""
    known = towers.known
    features = sorted(feature for feature in known.places if feature in known.written)
    with torch.no_grad():
        vectors = towers.vectors(torch.tensor([known.places[feature] for feature in features])).numpy()
    scales = np.abs(vectors).max(1) / 127 + 1e-12
    rounded = np.clip(np.rint(vectors / scales[:, None]), -127, 127).astype(np.int8)
    if not np.isfinite(scales).all():
        raise SystemExit("the vectors are not finite: nothing was written")
    data = scales.astype("<f4").tobytes() + rounded.tobytes()
    (folder / "features.txt").write_text("\n".join(features), encoding="utf-8")
    (folder / "vectors.bin").write_bytes(data)
    names = ("name", "description", "inputs")
    fields = torch.exp(towers.fields).tolist()
    weights = {name: round(value, 3) for name, value in zip(names, fields, strict=True)}
    weights |= {
        "scale": round(math.exp(float(towers.scale.detach())), 2),
        "none": round(float(towers.none.detach()), 2),
    }
    (folder / "weights.json").write_text(json.dumps(weights) + "\n", encoding="utf-8")
    print(f"{len(features)} features, {len(data)} bytes")


def main() -> None:
    """Measure, or train and write."""
    arguments = training_options(__doc__, _ROUNDS)
    torch.set_num_threads(arguments.threads)
    found = [concepts(product) for product in products()]
    print(
        f"{len(found)} products, {sum(map(len, found))} tools, {sum(len(c.requests) for f in found for c in f)} requests"
    )
    if arguments.write:
        write(train(found, vocabulary(found), arguments.rounds))
        return
    unseen, seen = found[::5], [family for place, family in enumerate(found) if place % 5]
    towers = train(seen, vocabulary(seen), arguments.rounds)
    print(
        f"first among the tools of a product: {first_share(towers, unseen):.1%} of products not trained on, {first_share(towers, seen):.1%} of the others"
    )


if __name__ == "__main__":
    main()
