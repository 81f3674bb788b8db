"""What a sentence asks for, by its wording alone: nothing, a look-up, or an act that changes something (its dialogue act).

A linear model of words, pairs of adjacent words, and the first and the last ones. ``benchmarks/meaning`` trains it. ``acts.txt`` has one
feature a line, ``acts.bin`` three numbers (int8) for each, ``acts.json`` what they are multiplied by, and what is added.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from helmdeck_language import Token
from helmdeck_selection.meaning.features import request_features, with_pairs

_FOLDER: Final = Path(__file__).parent
# Features that are read: a sentence says early or at its end what it asks for.
_MAX_FEATURES: Final = 60
_CLASSES: Final = 3
FIRST: Final = "^"
"""The start of a feature of the first words."""
LAST: Final = "$"
"""The start of a feature of the last word."""


@attrs.frozen
class DialogueAct:
    """The probabilities of what a sentence asks for; their sum is 1.

    :ivar nothing: it states a fact, a plan, thanks, or what must not be done.
    :ivar look_up: it asks for what an entry returns that changes nothing.
    :ivar change: it asks for a change.
    """

    nothing: float
    look_up: float
    change: float


@attrs.frozen(eq=False)
class ActModel:
    """The trained weights.

    :ivar places: the place of each feature in ``weights``.
    :ivar weights: three numbers for each feature, of ``nothing``, ``look_up`` and ``change``, -127 to 127.
    :ivar scale: what a weight is multiplied by.
    :ivar bias: what is added to the logarithm of the odds of each class.

    >>> from helmdeck_language import scan
    >>> from helmdeck_selection import act_model
    >>> act = act_model().of_request(scan("the hall lamp should be off"))
    >>> act.change > 0.5
    True
    """

    places: Mapping[str, int]
    weights: Sequence[int]
    scale: float
    bias: Sequence[float]

    def of_request(self, tokens: Iterable[Token]) -> DialogueAct:
        """Return what a sentence asks for."""
        places = [
            _CLASSES * self.places[each] for each in set(act_features(request_features(tokens))) if each in self.places
        ]
        # A sum of more features is not surer in the same measure.
        scale = self.scale / math.sqrt(max(1, len(places)))
        odds = [
            bias + scale * sum([self.weights[place + index] for place in places])
            for index, bias in enumerate(self.bias)
        ]
        highest = max(odds)
        powers = [math.exp(value - highest) for value in odds]
        return DialogueAct(*(power / sum(powers) for power in powers))


def act_features(found: Sequence[str]) -> list[str]:
    """Return what the model reads of the features of a request: they, their pairs, the first two and the last one.

    >>> act_features(["show", "order"])
    ['show', 'order', 'show order', '^show', '^show order', '$order']
    """
    own = list(found[:_MAX_FEATURES])
    if not own:
        return own
    return [*with_pairs(own), FIRST + own[0], FIRST + " ".join(own[:2]), LAST + own[-1]]


@cache
def act_model(folder: Path = _FOLDER) -> ActModel:
    """Return the model of this package, or of another folder. It is read at the first call."""
    rest = json.loads((folder / "acts.json").read_text(encoding="utf-8"))
    features = (folder / "acts.txt").read_text(encoding="utf-8").split("\n")
    return ActModel(
        places={feature: place for place, feature in enumerate(features)},
        weights=array("b", (folder / "acts.bin").read_bytes()),
        scale=rest["scale"],
        bias=tuple(rest["bias"]),
    )
