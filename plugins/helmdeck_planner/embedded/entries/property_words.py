"""Words of input names and descriptions that say what kind of value an input takes, from ``property_words.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from helmdeck_language import WordFile

_FILE: Final = WordFile.beside(__file__, "property_words.toml")


def _sets(key: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in _FILE.rows(key).items()}


def _phrases(key: str) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    return {
        name: tuple(tuple(phrase.split()) for phrase in phrases.split(",")) for name, phrases in _FILE.rows(key).items()
    }


def _superlatives() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for word, nouns in ATTRIBUTES.items():
        # "largest", "heaviest", "biggest", "cheapest"
        base = word.removesuffix("e")
        forms = {f"{each}est" for each in (base, f"{base[:-1]}i", f"{base}{base[-1]}")}
        for noun in nouns:
            found.setdefault(noun, set()).update(forms)
    return {noun: frozenset(forms) for noun, forms in found.items()}


ROLE_WORDS: Final[Mapping[str, frozenset[str]]] = _sets("roles")
SOURCE_SIDE: Final = frozenset(_FILE.words("source_side"))
TARGET_SIDE: Final = frozenset(_FILE.words("target_side"))
GENERIC_WORDS: Final = frozenset(_FILE.words("generic"))
COUNT_WORDS: Final = frozenset(_FILE.words("counts"))
UNITS: Final[Mapping[str, frozenset[str]]] = {
    unit: inputs for units, inputs in _sets("units").items() for unit in units.split()
}
FOLDER_WORDS: Final = frozenset(_FILE.words("folders"))
FILE_WORDS: Final = frozenset(_FILE.words("files"))
PATH_WORDS: Final = frozenset(_FILE.words("paths"))
OLD_TEXT: Final = frozenset(_FILE.words("old_text"))
NEW_TEXT: Final = frozenset(_FILE.words("new_text"))
TECHNICAL_WORDS: Final = frozenset(_FILE.words("technical"))
NEGATIVE_WORDS: Final = frozenset(_FILE.words("negative"))
SWITCHING_WORDS: Final = frozenset(_FILE.words("switching"))
KIND_WORDS: Final = frozenset(_FILE.words("kinds"))
FORMAT_NAMES: Final = frozenset(_FILE.words("formats"))
CONTAINERS: Final = frozenset(_FILE.words("containers"))
HONORIFICS: Final = frozenset(_FILE.words("honorifics"))
NAME_PARTICLES: Final = frozenset(_FILE.words("name_particles"))
PERSON_IDS: Final = frozenset(_FILE.words("person_ids"))
COLOUR_NAMES: Final = frozenset(_FILE.words("colour_names"))
COLOURS: Final = frozenset(_FILE.words("colours"))
ACTIVE_WORDS: Final = frozenset(_FILE.words("active"))
INACTIVE_WORDS: Final = frozenset(_FILE.words("inactive"))
BELOW_WORDS: Final = frozenset(_FILE.words("below"))
ABOVE_WORDS: Final = frozenset(_FILE.words("above"))
PLAIN_WORDS: Final = frozenset(_FILE.words("plain"))
OTHER_PEOPLE: Final = frozenset(_FILE.words("other_people"))
FIRST_NAME: Final = frozenset(_FILE.words("first_name"))
LAST_NAME: Final = frozenset(_FILE.words("last_name"))
PERSON_NAME: Final = frozenset(_FILE.words("person_name"))
BRANCHES: Final = frozenset(_FILE.words("branches"))
BRANCH_PREFIXES: Final = frozenset(_FILE.words("branch_prefixes"))
REF_WORDS: Final = frozenset(_FILE.words("ref_words"))
REF_NAMES: Final = REF_WORDS | frozenset(_FILE.words("ref_parts"))
BASING_WORDS: Final = frozenset(_FILE.words("basing"))
EXCLUDING_WORDS: Final = frozenset(_FILE.words("excluding"))
STATE_WORDS: Final = frozenset(_FILE.words("states"))
RESULT_HINTS: Final = frozenset(_FILE.words("result_hints"))
RESULT_WORDS: Final = frozenset(_FILE.words("results"))
COMMON_WORDS: Final = frozenset(_FILE.words("common"))
NOTE_WORDS: Final = frozenset(_FILE.words("notes"))
CONTAINING: Final = frozenset(_FILE.words("containing"))
STORES: Final = frozenset(_FILE.words("stores"))
STORING_VERBS: Final = frozenset(_FILE.words("storing"))
SEARCHING_VERBS: Final = frozenset(_FILE.words("searching"))
REPLACING_VERBS: Final = frozenset(_FILE.words("replacing"))
SWAPPING_VERBS: Final = frozenset(_FILE.words("swapping"))
EXCLUDED: Final = frozenset(_FILE.words("excluded"))
LISTING_VERBS: Final = frozenset(_FILE.words("listing"))
SEEKING: Final = frozenset(_FILE.words("seeking"))
CLOSE: Final = frozenset(_FILE.words("close"))
AFTER_NAMES: Final = frozenset(_FILE.words("after_names"))
TEXT_LABELS: Final = frozenset(_FILE.words("text_labels"))
CONTENT_LABELS: Final = frozenset(_FILE.words("content_labels"))
TITLES: Final = frozenset(_FILE.words("titles"))
PATTERN_WORDS: Final = frozenset(_FILE.words("patterns"))
MENTIONING: Final = frozenset(_FILE.words("mentioning"))
REPORTING_VERBS: Final = frozenset(_FILE.words("reporting"))
TELLING_VERBS: Final = frozenset(_FILE.words("telling"))
NAMING_VERBS: Final = frozenset(_FILE.words("naming"))
SETTING_VERBS: Final = frozenset(_FILE.words("setting"))
KEY_NAMES: Final = frozenset(_FILE.words("keys"))
CURRENCY_NAMES: Final[Mapping[str, str]] = {
    name: code for code, names in _FILE.rows("currency_names").items() for name in names.split()
} | {name.strip(): code for code, names in _FILE.rows("currency_pairs").items() for name in names.split(",")}
ZONE_CODES: Final = frozenset(_FILE.words("zone_codes"))
NO_CITIES: Final = frozenset(_FILE.words("no_cities"))
CURRENCIES: Final = frozenset(_FILE.words("currencies"))
FILE_TYPES: Final[Mapping[str, str]] = {
    word: extension for words, extension in _FILE.rows("file_types").items() for word in words.split()
}
FILE_EXTENSIONS: Final = frozenset((*FILE_TYPES.values(), *_FILE.words("extensions")))
ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    word: tuple(nouns.split()) for words, nouns in _FILE.rows("attributes").items() for word in words.split()
}
"""What a question with "how" asks for."""
SUPERLATIVES: Final[Mapping[str, frozenset[str]]] = _superlatives()
"""The superlatives that rank by an attribute: "cheapest" by "price"."""
ORDINALS: Final[Mapping[str, int]] = {
    word: int(place) for place, words in _FILE.rows("ordinals").items() for word in words.split()
}
ABBREVIATIONS: Final[Mapping[str, frozenset[str]]] = _sets("abbreviations")
SWITCHES_ON: Final = _phrases("switches")
SWITCHES_OFF: Final = _phrases("switches_off")
CHOICE_PHRASES: Final = _phrases("choice_phrases")
CHOICE_WORDS: Final[Mapping[str, frozenset[str]]] = _sets("choices")
