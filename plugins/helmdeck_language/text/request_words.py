"""Words of requests, whatever the catalog: stop words, verbs, small talk in English, polite words of several languages.

``request_words.toml`` describes each list.
"""

from __future__ import annotations

from typing import Final

from helmdeck_language.text.word_files import WordFile

_FILE: Final = WordFile.beside(__file__, "request_words.toml")


def _set(key: str) -> frozenset[str]:
    return frozenset(_FILE.words(key))


STOP_WORDS: Final = _set("stop_words") | _set("korean_stop_words") | _set("chinese_stop_words")
"""Words that are no search terms."""
KOREAN_ENDINGS: Final = _set("korean_endings")
"""Particles and forms of helping verbs at the end of Korean words."""
VERBS: Final = _set("verbs")
"""Verbs that can start a clause of a request."""
COMMAND_VERBS: Final = _set("command_verbs")
SMALL_TALK: Final = _set("small_talk")
"""Words of any request, which say less than their rarity in a catalog suggests."""
LEAD_INS: Final = _set("lead_ins")
BEFORE_VERB: Final = LEAD_INS | _set("before_verb")
JOINTS: Final = _set("joints")
OBJECT_STARTS: Final = _set("object_starts")
WISHES: Final = _set("wishes")
PLEASE: Final = _set("please")
ASKING_PAIRS: Final = frozenset((first, second) for first, second in map(str.split, _FILE.lines("asking_pairs")))
FIRST_PERSON: Final = _set("first_person")
WE: Final = _set("we")
LETTER_WORDS: Final = _set("letter_words")
