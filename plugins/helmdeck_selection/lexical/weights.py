"""The weights that a deployment can set under ``[selection.rankers.lexical]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Weight of one occurrence by field. "description" is its first sentence, "details" the rest. A limitation describes what an
# entry does not do, so it hardly counts.
FIELD_WEIGHTS: Final[Mapping[str, float]] = {
    "name": 2.0,
    "keyword": 1.5,
    "description": 1.0,
    "details": 0.3,
    "use": 0.8,
    "accepts": 0.4,
    "produces": 0.5,
    "step": 0.5,
    "limitation": 0.05,
}

# Bonus of the best entry of a clause, relative to the best score of the request.
CLAUSE_VOTE: Final = 0.3
# Weight of a synonym.
SYNONYM: Final = 0.4

# Weight of the similarity of meaning beside words; 0.75 is as good.
MEANING: Final = 1.0

LEXICAL_WEIGHTS: Final[Mapping[str, float]] = {**FIELD_WEIGHTS, "clause_vote": CLAUSE_VOTE, "synonym": SYNONYM}
"""The weights of words with their defaults."""
