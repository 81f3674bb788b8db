"""Reads word lists: TOML files beside the code, and those that a deployment adds.

Words are separated by spaces, in one string. A wrong file raises an error that names the file, the key, what was found and what
is allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

if TYPE_CHECKING:
    from helmdeck_core import ConfigError, Mistake

T = TypeVar("T")

_WORDS: Final = "a string of words with spaces between them"
_LINES: Final = "an array of strings"
_TABLE: Final = "a table of strings"
_MAX_SHOWN: Final = 60

# What word lists consist of. All else, such as a comment behind a value or an escape, is left to ``tomllib``, which takes many times
# as long.
_STRING: Final = r'"[^"\\\n]*"'
_ITEM: Final = re.compile(
    rf"""(?:\#[^\n]*
    | \[(?P<table>[\w-]+)\]
    | (?P<key>{_STRING}|[\w-]+)\ =\ (?:
        (?P<string>{_STRING})
      | '''\n?(?P<lines>[^']*(?:'(?!'')[^']*)*)'''
      | (?P<array>\[\s*(?:{_STRING}(?:,\s*|\s*(?=\])))*\])
      | (?P<number>[1-9]\d*|true|false)
      )
    )?(?:\n|\Z)""",
    re.VERBOSE,
)
_STRINGS: Final = re.compile(_STRING)


def plain_toml(text: str) -> dict[str, Any] | None:
    """Read TOML that consists of tables, strings, arrays of strings, whole numbers, truth values and comments; else ``None``."""
    table = values = dict[str, Any]()
    end = 0
    for match in _ITEM.finditer(text):
        if match.start() != end:
            return None
        end = match.end()
        kind = match.lastgroup
        if kind is None:
            continue
        name = match[kind]
        if kind == "table":
            if name in values:
                return None
            table = values[name] = {}
            continue
        key = match["key"]
        key = key[1:-1] if key[0] == '"' else key
        if key in table:
            return None
        if kind == "string":
            table[key] = name[1:-1]
        elif kind == "lines":
            table[key] = name
        elif kind == "array":
            table[key] = [each[1:-1] for each in _STRINGS.findall(name)]
        else:
            table[key] = name == "true" if name[0] in "tf" else int(name)
    return values if end == len(text) else None


@attrs.frozen
class WordFile:
    """The content of a file, or one of its tables. A key that is left out is an empty list.

    :ivar path: the file, for errors.
    :ivar where: the key of the table with a dot at its end; empty for the whole file.
    :ivar mistakes: receives every mistake, whose value counts as left out; without it, the first mistake is raised.
    """

    path: Path
    values: Mapping[str, Any]
    where: str = ""
    mistakes: list[Mistake] | None = attrs.field(default=None, eq=False, repr=False)

    @classmethod
    def read(cls, path: Path, mistakes: list[Mistake] | None = None) -> WordFile:
        """Read a file.

        :param mistakes: receives the mistakes of the values.
        :raises ConfigError: it cannot be read, or is no TOML in UTF-8.
        """
        try:
            text = path.read_text(encoding="utf-8")
            values = plain_toml(text)
            return cls(path, tomllib.loads(text) if values is None else values, mistakes=mistakes)
        except OSError as exc:
            raise _config_error(str(path), exc.strerror or str(exc), "", "a readable file") from exc
        except ValueError as exc:
            raise _config_error(str(path), str(exc), "", "TOML in UTF-8") from exc

    @classmethod
    def beside(cls, module: str, name: str) -> WordFile:
        """Read a file in the folder of a module.

        :param module: the module's ``__file__``.
        """
        return cls.read(Path(module).with_name(name))

    def only(self, allowed: Collection[str]) -> WordFile:
        """Check that there are no other keys.

        :raises ConfigError: there is one.
        """
        for key in self.values:
            if key not in allowed:
                from helmdeck_core import did_you_mean

                self._report(key, f"unknown key{did_you_mean(key, allowed)}", repr(key), ", ".join(sorted(allowed)))
        return self

    def text(self, key: str, allowed: str) -> str:
        """Return a string that is not empty.

        :param allowed: what the string is, for the error.
        :raises ConfigError: it is missing or something else.
        """
        value = self.values.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self._reject(key, value, allowed)
        return ""

    def words(self, key: str) -> tuple[str, ...]:
        """Return the words of a string, in order.

        :raises ConfigError: the value is something else.
        """
        return tuple(self._value(key, str, _WORDS).split())

    def lines(self, key: str) -> tuple[str, ...]:
        """Return the strings of an array: phrases, or groups of words.

        :raises ConfigError: the value is something else, or a string is empty.
        """
        lines: list[str] = []
        for each in self._value(key, list, _LINES):
            if isinstance(each, str) and each.strip():
                lines.append(each)
            else:
                self._reject(key, each, f"{_LINES}, none of them empty")
        return tuple(lines)

    def rows(self, key: str) -> dict[str, str]:
        """Return a table of strings of words.

        :raises ConfigError: a value is something else.
        """
        rows = self._value(key, dict, _TABLE)
        wrong = [name for name, each in rows.items() if not isinstance(each, str)]
        for name in wrong:
            self._reject(f"{key}.{name}", rows[name], _WORDS)
        return {name: each for name, each in rows.items() if name not in wrong} if wrong else rows

    def stems(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return a table of stems, whose parts are joined by ``+``.

        :raises ConfigError: a value is something else, or a part is empty.
        """
        found = {name: tuple(each.split()) for name, each in self.rows(key).items()}
        for name, stems in found.items():
            for stem in stems:
                if not all(stem.split("+")):
                    self._reject(f"{key}.{name}", stem, "stems, or parts of a phrase with a + between them")
        return found

    def number(self, key: str, most: int) -> int:
        """Return a number from 0 to ``most``; 0 if it is left out.

        :raises ConfigError: the value is something else.
        """
        value = self.values.get(key, 0)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
            return value
        self._reject(key, value, f"a number from 0 to {most}")
        return 0

    def flag(self, key: str) -> bool:
        """Return a truth value; false if it is left out.

        :raises ConfigError: the value is something else.
        """
        return self._value(key, bool, "true or false")

    def table(self, key: str) -> WordFile:
        """Return a table of any lists.

        :raises ConfigError: the value is something else.
        """
        values: Mapping[str, Any] = self._value(key, dict, "a table")
        return WordFile(self.path, values, f"{self.where}{key}.", self.mistakes)

    def _value(self, key: str, kind: type[T], allowed: str) -> T:
        """The value of a key, which is empty or false if it is left out or something else."""
        value = self.values.get(key)
        if isinstance(value, kind):
            return value
        if value is not None:
            self._reject(key, value, allowed)
        return kind()

    def _reject(self, key: str, found: object, allowed: str) -> None:
        if found is None:
            return self._report(key, "missing", "", allowed)
        shown = repr(found)
        shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}..."
        return self._report(key, "wrong value", shown, allowed)

    def _report(self, key: str, problem: str, found: str, allowed: str) -> None:
        error = _config_error(f"{self.path}: {self.where}{key}", problem, found, allowed)
        if self.mistakes is None:
            raise error
        self.mistakes.extend(error.mistakes)


def _config_error(where: str, problem: str, found: str, allowed: str) -> ConfigError:
    from helmdeck_core import ConfigError, Mistake

    return ConfigError((Mistake(where=where, problem=problem, found=found, allowed=allowed),))
