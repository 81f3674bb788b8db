"""Words of input names and descriptions that say what kind of value an input takes. Replaceable data of the planner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ROLE_WORDS: Final[Mapping[str, frozenset[str]]] = {
    role: frozenset(words.split())
    for role, words in {
        "url": "url urls uri uris link links href website webpage site",
        "email": "email emails recipient recipients attendee attendees invitee invitees cc bcc to mail",
        "path": "path paths file files filename filenames filepath filepaths dir directory folder recording attachment attachments",
        "date": "date dates day checkin checkout deadline birthday since until departure datetime due",
        "time": "time hour",
        "zone": "timezone tz zone timezones",
        "id": "id ids uuid sha hash ts timestamp ref revision commit symbol ticker tickers sku isbn code number no key handle slug identifier",
        "language": "language languages lang locale",
        "currency": "currency currencies",
        "sql": "sql",
        "code": "code script function snippet program javascript",
        "expression": "expression formula equation",
        "owner": "owner org organization organisation workspace namespace",
        "repo": "repo repository project",
        "pattern": "pattern glob regex regexp",
        "place": "city cities location place address country region origin destination town area airport near where stop station neighborhood state",
        "query": "query q search term terms keyword keywords question prompt topic topics subject_matter searchterm brief goal searchquery company idea",
        "name": "name title label subject channel table branch key username user reaction library person tag category names collection database entity player team artist book movie",
        "content": "text content body message comment description note notes markdown reply insight thought caption tweet summary input data paragraph document transcript source_text material value string sentence words word contents",
    }.items()
}
"""Last words of names by role, tried in this order."""

SOURCE_SIDE: Final = frozenset(
    "from source origin start begin since after departure old base checkin src first in left".split()
)
TARGET_SIDE: Final = frozenset(
    "to target destination dest end until before arrival new checkout dst into out second right".split()
)
"""Words of names that take the value after "from", and after "to"."""

GENERIC_WORDS: Final = frozenset(
    "id ids name names number no text value string key type the a an of to for input param parameter data in on".split()
)
"""Words of names that do not label a value in a request."""

COUNT_WORDS: Final = frozenset(
    "limit count max num n top size maximum number results amount quantity per total k tail head".split()
)
"""Words of names that take a number of items."""

UNITS: Final[Mapping[str, frozenset[str]]] = {
    unit: frozenset(names.split())
    for units, names in {
        "euro euros dollar dollars usd eur pound pounds gbp cents bucks": "price amount cost budget money fee value total payment sum",
        "km kilometer kilometers kilometre kilometres mile miles m meter meters metres": "radius distance range length far within",
        "second seconds sec secs s minute minutes min mins hour hours h ms millisecond milliseconds": "duration time timeout seconds minutes hours delay interval wait length period",
        "day days week weeks month months year years night nights": "days weeks months years nights duration period forecast",
        "person people adult adults guest guests passenger passengers traveler travelers traveller travellers": "guests passengers adults people persons party travelers",
        "percent %": "percent percentage rate discount ratio",
        "star stars": "stars rating class category",
        "pixel pixels px": "width height size resolution",
        "word words character characters char chars sentence sentences token tokens": "words characters chars length sentences tokens max",
        "degree degrees": "temperature angle degrees",
    }.items()
    for unit in units.split()
}
"""Units after a number, with words of the inputs that take it."""

CHOICE_WORDS: Final[Mapping[str, frozenset[str]]] = {
    choice: frozenset(words.split())
    for choice, words in {
        "driving": "car drive",
        "drive": "car",
        "car": "drive driving",
        "walking": "foot walk",
        "walk": "foot walking",
        "bicycling": "bike bicycle cycling cycle",
        "cycling": "bike bicycle cycle",
        "bike": "bicycle cycling",
        "transit": "bus train subway metro tram",
        "asc": "ascending oldest lowest increasing",
        "desc": "descending newest latest highest decreasing",
        "ascending": "asc oldest lowest increasing",
        "descending": "desc newest latest highest decreasing",
        "high": "urgent important highest",
        "urgent": "important",
        "low": "unimportant lowest",
        "metric": "celsius",
        "imperial": "fahrenheit",
        "celsius": "centigrade",
        "done": "finished completed",
        "completed": "done finished",
        "closed": "resolved done",
        "open": "unresolved pending todo",
        "small": "little tiny",
        "large": "big huge",
        "all": "every everything",
        "relevance": "relevant",
        "newest": "latest recent",
    }.items()
}
"""Words that request a choice other than by its own name."""
