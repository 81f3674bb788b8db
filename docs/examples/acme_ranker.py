"""A minimal ranker: the score of an entry is the number of words that it shares with the request."""

import re

from helmdeck_core import Ranker, Ranking, Score, hookimpl


def words_of(text):
    """Return the lower-case words of a string."""
    return set(re.findall(r"[a-z0-9]+", text.lower()))


class SharedWords:
    """The index of one catalog version; created once, used for every request."""

    def __init__(self, catalog):
        self._entries = [(entry.id, words_of(f"{entry.id} {entry.description}")) for entry in catalog.entries]

    def rank(self, request):
        """Score every entry exactly once, best first, ties by id; never raise."""
        request_words = words_of(request)
        scores = [
            Score(index, name, float(len(request_words & words)), tuple(sorted(request_words & words)))
            for index, (name, words) in enumerate(self._entries)
        ]
        return Ranking(tuple(sorted(scores, key=lambda score: (-score.score, score.id))))


@hookimpl
def helmdeck_rankers():
    """Provide ``ranker = "shared-words"``."""
    return [Ranker(name="shared-words", index=SharedWords, summary="counts shared words")]
