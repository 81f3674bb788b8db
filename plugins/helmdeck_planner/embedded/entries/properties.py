"""An input of an entry, and the kinds of values that inputs take."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import attrs

from helmdeck_language import stem
from helmdeck_planner.embedded.entries.property_words import (
    NEW_TEXT,
    OLD_TEXT,
    PERSON_IDS,
)
from helmdeck_planner.embedded.entries.units import Unit


class Role(StrEnum):
    """The kind of value that an input takes."""

    URL = "url"
    EMAIL = "email"
    PATH = "path"
    DATE = "date"
    TIME = "time"
    ZONE = "zone"
    ID = "id"
    LANGUAGE = "language"
    CURRENCY = "currency"
    SQL = "sql"
    CODE = "code"
    EXPRESSION = "expression"
    OWNER = "owner"
    REPO = "repo"
    TARGET = "target"
    KEY = "key"
    PATTERN = "pattern"
    PLACE = "place"
    QUERY = "query"
    NAME = "name"
    CONTENT = "content"
    TEXT = "text"
    CHOICE = "choice"
    BOOLEAN = "boolean"
    NUMBER = "number"
    OTHER = "other"


TEXT_ROLES: Final = (Role.CONTENT, Role.QUERY, Role.NAME, Role.TEXT)
"""The roles that take words of a request as they are."""

QUOTED_ROLES: Final = (
    Role.CONTENT,
    Role.QUERY,
    Role.NAME,
    Role.TEXT,
    Role.PATTERN,
    Role.PLACE,
    Role.CODE,
    Role.EXPRESSION,
)
"""The roles that take a quoted string, in the order in which strings without a label go to them."""


class Clock(StrEnum):
    """The form in which an input takes a time of day."""

    HOURS = "HH:MM"
    SECONDS = "HH:MM:SS"
    TWELVE_HOURS = "h:MM AM"


@attrs.frozen
class Property:
    """One input of an entry.

    :ivar words: the words of its name.
    :ivar labels: stems that label a value in a request: "branch" for ``branch_name``.
    :ivar hints: stems of its description.
    :ivar side: ``source`` takes the value after "from", ``target`` the one after "to".
    :ivar choices: the allowed values.
    :ivar unit: the unit of the number that it takes.
    :ivar clock: the form of the times that it takes; ``None`` if the schema states none.
    :ivar is_object: it takes an object whose fields the schema does not name, or a list of them.
    :ivar cell: the type of the values of a list of lists: "string", or "any"; empty if it takes none.
    :ivar wants_iso_date: its schema gives dates as ``YYYY-MM-DD``.
    :ivar wants_iana: its description gives IANA names of time zones.
    :ivar wants_subfolders: its description, or that of the entry, gives patterns such as ``**/*.txt``.
    :ivar fields: the fields of its items, if they are objects.
    :ivar least: the smallest number that it takes; ``most`` is the largest one.
    :ivar replacement: the names of the two fields of its items that take an old and a new text.
    """

    name: str
    role: Role
    words: tuple[str, ...]
    labels: frozenset[str]
    hints: frozenset[str]
    side: str
    is_required: bool
    is_list: bool
    choices: tuple[Any, ...] = ()
    text: str = ""
    unit: Unit | None = None
    is_object: bool = False
    cell: str = ""
    wants_iso_date: bool = False
    wants_iana: bool = False
    wants_subfolders: bool = False
    replacement: tuple[str, str] | None = None
    fields: tuple[Property, ...] = ()
    clock: Clock | None = None
    least: float | None = None
    most: float | None = None

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words of its name."""
        return frozenset(map(stem, self.words))

    @cached_property
    def takes_people(self) -> bool:
        """Whether its name is a word for a person, or for several."""
        return bool(PERSON_IDS & {word.removesuffix("s") for word in self.words})

    @property
    def takes_objects(self) -> bool:
        """Whether it takes an object, a list of them, or a list of lists."""
        return bool(self.fields or self.is_object or self.cell)

    @property
    def is_old_text(self) -> bool:
        """Whether it takes a text that is replaced."""
        return bool(OLD_TEXT & set(self.words))

    @property
    def is_new_text(self) -> bool:
        """Whether it takes a text that replaces another."""
        return bool(NEW_TEXT & set(self.words))
