"""The probability that a step is right, from how its entry was chosen.

A logistic model; ``benchmarks/first_use`` fits its weights on the requests that the rules were developed with, and reports others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.ranked import is_bare

UNSURE: Final = 0.7
"""The entry of a part is not clear below this score."""
ADVISED: Final = 0.65
"""A step below this probability is one to check, or to plan with a language model."""
LIKELY: Final = 0.45
"""An entry that was chosen by evidence, and below this probability, is none."""
# The same of an entry that may change something.
_STRICT: Final = 0.65
# The same of one that may change something, and whose inputs or whose act a part does not state.
_LACKING: Final = 0.75
# The same of an entry without an input schema.
_LIKELY_BARE: Final = 0.4
# A step that lacks values is a gap below this probability; one that only leaves out stated values, where it is unsure.
_SILENT: Final = 0.2
# The same of a step that changes something and is not named by its part.
_DOUBTFUL: Final = 0.5
# An entry does not serve a part of which this share of the words is foreign to it.
_FOREIGN: Final = 0.5
_TIE: Final = 0.5
_MAX_MARGIN: Final = 1.5
_MAX_TOTAL: Final = 5.0
_MIN_SHARE: Final = 0.001


@attrs.frozen(kw_only=True)
class Weights:
    """Weights of the features of a choice."""

    constant: float
    total: float
    margin: float
    complete: float
    unused: float
    unexplained: float
    bare: float


# Fitted on requests of which nearly all steps are right; ``SCALES`` corrects that.
WEIGHTS: Final = Weights(
    constant=-2.32, total=0.83, margin=1.17, complete=1.23, unused=-0.79, unexplained=-1.09, bare=-1.79
)


@attrs.frozen(kw_only=True)
class Scale:
    """The log-odds of a step are those of its score, times a slope, plus a shift."""

    slope: float
    shift: float


@attrs.frozen(kw_only=True)
class Scales:
    """How much lower the probability of a step is than its score: ``benchmarks/first_use/confidence.py`` fits them.

    :ivar rules: for a choice by rules.
    :ivar evidence: for one by evidence, whose score does not cover the arguments.
    :ivar incomplete: for one by evidence whose part does not state all required inputs: another shift, as there are few.
    """

    rules: Scale
    evidence: Scale
    incomplete: Scale


SCALES: Final = Scales(
    rules=Scale(slope=1.0, shift=-0.61),
    evidence=Scale(slope=0.76, shift=-0.22),
    # Of 44 such steps of two held-out halves that were not read before, 36 % are right; they had 81 % with the shift of the others, now 60 %.
    incomplete=Scale(slope=0.76, shift=-1.39),
)


def _features(found: Sequence[Scored]) -> tuple[float, ...]:
    """Return the features of a choice by rules, in the order of the weights after the constant.

    They are how well the best entry fits, its distance to the second one, whether all its required inputs are stated, the share
    of values that it does not take, the share of words and values that are foreign to it, and whether it has no input schema: then
    every value fits it, which shows nothing.
    """
    best = found[0]
    margin = best.total - found[1].total if len(found) > 1 else _MAX_MARGIN
    return (
        min(best.total, _MAX_TOTAL),
        min(margin, _MAX_MARGIN),
        float(best.is_complete),
        best.unused,
        best.unexplained,
        float(is_bare(best.profile)),
    )


def is_gap(found: Sequence[Scored]) -> bool:
    """Whether no candidate for a part is likely enough to be its step."""
    if not found:
        return True
    best = found[0]
    if best.evidence is None:
        return _is_guess(found) or _lacks_evidence(best)
    if is_bare(best.profile):
        return best.evidence < _LIKELY_BARE
    if best.profile.writes is False:
        return best.evidence < LIKELY
    is_stated = best.profile.writes is None or (best.is_complete and best.is_named)
    return best.evidence < (_STRICT if is_stated else _LACKING)


def _is_guess(found: Sequence[Scored]) -> bool:
    """Whether a part is better a gap: the step that rules choose is probably wrong, and does not take all that the part states."""
    best = found[0]
    if best.is_complete:
        return best.unused > 0 and score(found) < UNSURE
    # What a step that reads leaves open can be asked for; one that changes something must be named, or more probable.
    is_doubtful = best.profile.writes is True and not best.is_named
    return score(found) < (_DOUBTFUL if is_doubtful else _SILENT)


def _lacks_evidence(best: Scored) -> bool:
    """Whether most of a part has nothing to do with an entry that needs nothing more, or that no word of the part names."""
    if best.is_complete and best.takes_any:
        return best.unexplained > _FOREIGN
    return best.unexplained >= _FOREIGN and (best.is_complete or not (best.is_named or best.takes_any))


def score(found: Sequence[Scored]) -> float:
    """Return how well the best of some candidates serves a part, from 0 to 1, for the choice between its step and a gap."""
    best = found[0]
    if best.evidence is not None:
        return best.evidence
    constant, *slopes = attrs.astuple(WEIGHTS)
    odds = constant + sum(slope * value for slope, value in zip(slopes, _features(found), strict=True))
    # Of two that fit equally well, at most one is right.
    margin = best.total - found[1].total if len(found) > 1 else 1.0
    return min(1 / (1 + math.exp(-odds)), _TIE + margin)


def probability(found: Sequence[Scored], scales: Scales = SCALES) -> float:
    """Return the probability that the best of some candidates, with its arguments, is what a part requests."""
    best = found[0]
    if is_bare(best.profile):
        return score(found)
    scale = scales.rules if best.evidence is None else scales.evidence if best.is_complete else scales.incomplete
    return 1 / (1 + math.exp(-scale.slope * log_odds(found) - scale.shift))


def log_odds(found: Sequence[Scored]) -> float:
    """Return the logarithm of the odds that a score is."""
    share = min(max(score(found), _MIN_SHARE), 1 - _MIN_SHARE)
    return math.log(share / (1 - share))
