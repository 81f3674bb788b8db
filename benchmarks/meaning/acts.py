"""Trains the model of what a sentence asks for: nothing, a look-up, or a change.

::

    pip install torch 'helmdeck[vectors]'
    python -m benchmarks.meaning.acts           # how often it is right on products and kinds that were not trained on
    python -m benchmarks.meaning.acts --write   # train on all of them, and write plugins/helmdeck_selection/meaning

The requests of ``ways`` ask for what the verbs of their tools do; those of tools whose verbs do not tell are left out. The sentences of
``statements`` ask for nothing.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import torch
from torch.nn import functional

import helmdeck_selection
from benchmarks.meaning.data import Tool, products, statements, training_options
from helmdeck_language import ACTIONS, READING, WRITING, scan, stem
from helmdeck_selection import name_words, read_catalog
from helmdeck_selection.meaning.acts import act_features
from helmdeck_selection.meaning.features import request_features

FOLDER = Path(helmdeck_selection.__file__).parent / "meaning"
NOTHING, LOOK_UP, CHANGE = range(3)
CLASSES = ("nothing", "look_up", "change")
# A feature is read if so many sentences have it.
_LEAST = 3
_ROUNDS = 8
_BATCH = 256
_RATE = 0.02
_DROPPED = 0.4
_PENALTY = 2e-5
# Words of a tool that may be its verb.
_WORDS = 3


@attrs.frozen
class Row:
    """A sentence, what it asks for, and the product or kind that it is about."""

    features: Sequence[str]
    requested: int
    group: str


def rows() -> Iterator[Row]:
    """Yield all sentences."""
    for product in products():
        for tool in product.tools:
            if requested := requested_by(tool):
                for text in tool.requests:
                    yield Row(act_features(request_features(scan(text))), requested, product.name)
    for group, texts in statements().items():
        for text in texts:
            yield Row(act_features(request_features(scan(text))), NOTHING, f"statements: {group}")


def requested_by(tool: Tool) -> int | None:
    """Return what the requests for a tool ask for, by the verbs of most of its vendors; ``None`` if these do not tell."""
    found: Counter[int] = Counter()
    for vendor in tool.vendors:
        entry = read_catalog([vendor], "tool").entries[0]
        words = [*name_words(entry)[:_WORDS], *entry.description.split()[:1]]
        actions = [ACTIONS.get(stem(word.lower())) or ACTIONS.get(stem(word.lower().rstrip("s"))) for word in words]
        if known := next(filter(None, actions), None):
            found.update([LOOK_UP] if known <= READING else [CHANGE] if known <= WRITING else [])
    if found[LOOK_UP] == found[CHANGE]:
        return None
    return max((LOOK_UP, CHANGE), key=lambda requested: found[requested])


@attrs.define
class Linear:
    """The weights while they are trained."""

    places: dict[str, int]
    weights: torch.Tensor
    bias: torch.Tensor

    def odds(self, texts: Sequence[Sequence[str]], *, drop: bool = False) -> torch.Tensor:
        """Return the logarithm of the odds of each class."""
        found = [[self.places[each] for each in set(text) if each in self.places] or [0] for text in texts]
        longest = max(map(len, found))
        places = torch.tensor([row + [0] * (longest - len(row)) for row in found])
        is_there = (places > 0).float()
        if drop:
            is_there = is_there * (torch.rand(places.shape) > _DROPPED) / (1 - _DROPPED)
        count = (places > 0).sum(1, keepdim=True).clamp(min=1).float()
        return self.bias + (self.weights[places] * is_there[..., None]).sum(1) / count.sqrt()

    def used(self, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """Return the weights of the features of texts."""
        return self.weights[sorted({self.places.get(each, 0) for text in texts for each in text})]


def train(found: Sequence[Row], rounds: int = _ROUNDS) -> Linear:
    """Fit the weights."""
    random.seed(1)
    torch.manual_seed(1)
    count = Counter(each for row in found for each in set(row.features))
    names = sorted(each for each, number in count.items() if number >= _LEAST)
    model = Linear(
        {each: place for place, each in enumerate(names, 1)},
        torch.zeros(len(names) + 1, len(CLASSES), requires_grad=True),
        torch.zeros(len(CLASSES), requires_grad=True),
    )
    optimizer = torch.optim.Adam([model.weights, model.bias], lr=_RATE)
    number = Counter(row.requested for row in found)
    # Between equal weights for all classes and the shares of the data, which are not those of real texts.
    shares = torch.tensor([number[each] ** -0.75 for each in range(len(CLASSES))])
    for turn in range(rounds):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * (1 - turn / rounds)
        every = random.sample(found, len(found))
        for start in range(0, len(every), _BATCH):
            batch = every[start : start + _BATCH]
            texts = [row.features for row in batch]
            right = torch.tensor([row.requested for row in batch])
            loss = functional.cross_entropy(model.odds(texts, drop=True), right, weight=shares)
            loss = loss + _PENALTY * (model.used(texts) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"round {turn + 1} of {rounds}", flush=True)
    return model


def measure(model: Linear, found: Sequence[Row]) -> None:
    """Print how often each class is found."""
    with torch.no_grad():
        guess = torch.softmax(model.odds([row.features for row in found]), 1)
    for place, name in enumerate(CLASSES):
        own = [(int(row.argmax()) == place) for row, each in zip(guess, found, strict=True) if each.requested == place]
        print(f"{name}: {sum(own) / len(own):.1%} of {len(own)}")


def write(model: Linear, folder: Path = FOLDER) -> None:
    """Write the files that ``helmdeck_selection.meaning`` reads."""
    weights = model.weights.detach()
    weights = weights - weights.mean(1, keepdim=True)
    scale = float(weights.abs().max()) / 127
    rounded = torch.round(weights / scale).to(torch.int8)
    kept = [each for each, place in model.places.items() if int(rounded[place].abs().max()) > 0]
    (folder / "acts.txt").write_text("\n".join(kept), encoding="utf-8")
    (folder / "acts.bin").write_bytes(rounded[[model.places[each] for each in kept]].numpy().tobytes())
    rest = {"scale": round(scale, 5), "bias": [round(value, 3) for value in model.bias.detach().tolist()]}
    (folder / "acts.json").write_text(json.dumps(rest) + "\n", encoding="utf-8")
    print(f"{len(kept)} features")


def main() -> None:
    """Measure, or train and write."""
    arguments = training_options(__doc__, _ROUNDS)
    torch.set_num_threads(arguments.threads)
    found = list(rows())
    print(f"{len(found)} sentences: {dict(Counter(CLASSES[row.requested] for row in found))}")
    if arguments.write:
        write(train(found, arguments.rounds))
        return
    groups = sorted({row.group for row in found})
    unseen = set(groups[::5])
    model = train([row for row in found if row.group not in unseen], arguments.rounds)
    measure(model, [row for row in found if row.group in unseen])


if __name__ == "__main__":
    main()
