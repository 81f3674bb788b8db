"""A ranker: counts the words that a request and an entry share. Short enough to read, too simple to keep."""

import re

from helmdeck_core import Ranker, Ranking, Score, hookimpl


def words_of(text):
    """The words of a text, in lower case."""
    return set(re.findall(r"[a-z0-9]+", text.lower()))


class SharedWords:
    """What is known of one catalog; made once, then asked for every request."""

    def __init__(self, catalog):
        self._entries = [(entry.id, words_of(f"{entry.id} {entry.description}")) for entry in catalog.entries]

    def rank(self, request):
        """Every entry exactly once, best first, ties by id; for any text whatsoever."""
        wanted = words_of(request)
        scores = [
            Score(index, name, float(len(wanted & words)), tuple(sorted(wanted & words)))
            for index, (name, words) in enumerate(self._entries)
        ]
        return Ranking(tuple(sorted(scores, key=lambda score: (-score.score, score.id))))


@hookimpl
def helmdeck_rankers():
    """Chosen with ``ranker = "shared-words"``."""
    return [Ranker(name="shared-words", index=SharedWords, summary="counts shared words")]
