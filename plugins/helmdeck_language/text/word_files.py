"""Reads word lists: TOML files beside the code, and those that a deployment adds.

Words are separated by spaces, in one string. A wrong file raises an error that names the file, the key, what was found and what
is allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

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
    """

    path: Path
    values: Mapping[str, Any]
    where: str = ""

    @classmethod
    def read(cls, path: Path) -> WordFile:
        """Read a file.

        :raises ConfigError: it cannot be read, or is no TOML in UTF-8.
        """
        try:
            text = path.read_text(encoding="utf-8")
            values = plain_toml(text)
            return cls(path, tomllib.loads(text) if values is None else values)
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

                problem = f"unknown key{did_you_mean(key, allowed)}"
                raise _config_error(self._place(key), problem, repr(key), ", ".join(sorted(allowed)))
        return self

    def text(self, key: str, allowed: str) -> str:
        """Return a string that is not empty.

        :param allowed: what the string is, for the error.
        :raises ConfigError: it is missing or something else.
        """
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._error(key, value, allowed)
        return value.strip()

    def words(self, key: str) -> tuple[str, ...]:
        """Return the words of a string, in order.

        :raises ConfigError: the value is something else.
        """
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self._error(key, value, _WORDS)
        return tuple(value.split())

    def lines(self, key: str) -> tuple[str, ...]:
        """Return the strings of an array: phrases, or groups of words.

        :raises ConfigError: the value is something else, or a string is empty.
        """
        value = self.values.get(key, ())
        if not isinstance(value, (list, tuple)):
            raise self._error(key, value, _LINES)
        for each in value:
            if not isinstance(each, str) or not each.strip():
                raise self._error(key, each, f"{_LINES}, none of them empty")
        return tuple(value)

    def rows(self, key: str) -> dict[str, str]:
        """Return a table of strings of words.

        :raises ConfigError: a value is something else.
        """
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self._error(key, value, _TABLE)
        for name, each in value.items():
            if not isinstance(each, str):
                raise self._error(f"{key}.{name}", each, _WORDS)
        return value

    def stems(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return a table of stems, whose parts are joined by ``+``.

        :raises ConfigError: a value is something else, or a part is empty.
        """
        found = {name: tuple(each.split()) for name, each in self.rows(key).items()}
        for name, stems in found.items():
            for stem in stems:
                if not all(stem.split("+")):
                    raise self._error(f"{key}.{name}", stem, "stems, or parts of a phrase with a + between them")
        return found

    def number(self, key: str, most: int) -> int:
        """Return a number from 0 to ``most``; 0 if it is left out.

        :raises ConfigError: the value is something else.
        """
        value = self.values.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise self._error(key, value, f"a number from 0 to {most}")
        return value

    def flag(self, key: str) -> bool:
        """Return a truth value; false if it is left out.

        :raises ConfigError: the value is something else.
        """
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self._error(key, value, "true or false")
        return value

    def table(self, key: str) -> WordFile:
        """Return a table of any lists.

        :raises ConfigError: the value is something else.
        """
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self._error(key, value, "a table")
        return WordFile(self.path, value, f"{self.where}{key}.")

    def _place(self, key: str) -> str:
        return f"{self.path}: {self.where}{key}"

    def _error(self, key: str, found: object, allowed: str) -> Exception:
        if found is None:
            return _config_error(self._place(key), "missing", "", allowed)
        shown = repr(found)
        shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}..."
        return _config_error(self._place(key), "wrong value", shown, allowed)


def _config_error(where: str, problem: str, found: str, allowed: str) -> Exception:
    from helmdeck_core import ConfigError, Mistake

    return ConfigError((Mistake(where=where, problem=problem, found=found, allowed=allowed),))
