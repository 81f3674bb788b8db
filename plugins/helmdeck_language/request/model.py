"""The learnt weights that separate a request from a document; ``segmentation.json`` holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from helmdeck_language.request import cues
from helmdeck_language.request.borders import BORDER
from helmdeck_language.request.turn_layouts import TURN_LAYOUT

# Size limit of the cache of sums of weights.
_MAX_SUMS: Final = 20_000
LAYOUT: Final = (
    "last", "first", "inside", "around", "length", "length2", "document", "document2", "sentences", "paragraphs",
    "lines", "titled", "silent", "silent_end", "loud_document",
    "inside_choices", "shared_tongue", "quiet_request",
    "alone_turns", "alone_length", "alone_length2", "alone_labels", "alone_bullets", "alone_open", "alone_tongues",
    "alone_paragraphs", "alone_asks", "alone_titled", "alone_starts",
)  # fmt: skip
"""Names of the features of a layout; those of a text without a document start with ``alone``."""
ALONE_FEATURES: Final = LAYOUT.index("alone_turns")


@attrs.frozen
class Model:
    """The weights, in the order of the names of the features.

    The scores of layouts are linear in the weights, and no step depends on their values: with unit vectors of NumPy as
    weights, the "score" of a layout is its vector of features. So the weights are fitted on exactly what is computed here.
    """

    request: Sequence[float]
    document: Sequence[float]
    alone: Sequence[float]
    border: Sequence[float]
    layout: Sequence[float]
    turns: Sequence[float]
    _sums: dict[int, tuple[float, float, float, float, float]] = attrs.field(factory=dict, init=False, eq=False)

    def sums(self, flags: int) -> tuple[float, float, float, float, float]:
        """Return the weight of the features of a sentence.

        :returns: in a request, in a document, beside a border in these, and in a text that is all request.
        """
        found = self._sums.get(flags)
        if found is not None:
            return found
        places = [place for place in range(len(cues.FEATURES)) if flags >> place & 1]
        asks, opens, states = flags & cues.ASKING, flags & cues.OPEN_END, flags & cues.STATEMENT
        own = _border_places("own", "asks", "open", "statement")
        beside = _border_places("neighbour", "asks", "open", "statement", "bullet", "label", "letter")
        known = (asks, opens, states, flags & cues.BULLET, flags & cues.LABEL, flags & cues.LETTER)
        found = (
            sum([self.request[place] for place in places]),
            sum([self.document[place] for place in places]),
            sum([self.border[place] for place, is_so in zip(own, known, strict=False) if is_so]),
            sum([self.border[place] for place, is_so in zip(beside, known, strict=True) if is_so]),
            sum([self.alone[place] for place in places]),
        )
        if len(self._sums) < _MAX_SUMS:
            self._sums[flags] = found
        return found


def _border_places(side: str, *names: str) -> list[int]:
    return [BORDER.index(f"{side}_{name}") for name in names]


@cache
def model(*, with_turns: bool) -> Model:
    """Return the weights of the data file, for a text with turns or another one."""
    data: Mapping[str, Mapping[str, Mapping[str, float]]] = json.loads(
        files("helmdeck_language.request").joinpath("segmentation.json").read_text(encoding="utf-8")
    )
    names = {
        "request": cues.FEATURES, "document": cues.FEATURES, "alone": cues.FEATURES, "border": BORDER, "layout": LAYOUT,
        "turns": TURN_LAYOUT,
    }  # fmt: skip
    weights = data["turns" if with_turns else "plain"]
    return Model(*[tuple([weights.get(part, {}).get(name, 0.0) for name in own]) for part, own in names.items()])
