"""Placeholders such as ``[EMAIL_1]``: what a provider sees in place of a finding, and the way back in the answer."""

from __future__ import annotations

import json
import re
from typing import Final

_MAX_CHARS: Final = 60
_BEFORE_BARE: Final = r"(?:(?<![\w\[])|(?<=\\[bfnrt]))"
"""What precedes a placeholder without brackets: no word, or an escape of JSON such as ``\\n``."""
_ANY: Final = re.compile(r"(?:(?<![\w\\])|(?<=\\)(?![bfnrt])|(?<=\\[bfnrt]))([A-Za-z][A-Za-z0-9_]*)_(\d+)(?!\w)")
"""What would be restored as a placeholder, with or without brackets."""


class Placeholders:
    r"""The placeholders of one request. They are numbered in the order of the request, so equal requests have equal ones.

    A model may change their form: ``[email_1]``, ``\[EMAIL\_1\]`` and ``EMAIL_1`` are restored as well.
    """

    def __init__(self) -> None:
        self._by_value: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._reserved: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._end: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._values)

    def __repr__(self) -> str:
        return f"<{len(self._values)} placeholders>"

    def reserve(self, text: str) -> None:
        """Do not use the placeholders that a text of the request contains already, in any form that is restored."""
        if "_" in text:
            found = _ANY.findall(text.replace("\\_", "_"))
            self._reserved.update(f"{name}_{number}".upper() for name, number in found)

    def hide(self, kind: str, value: str, *, restores: bool) -> str:
        """Return the placeholder of a value.

        :param restores: the answer gets the value back.
        """
        known = self._by_value.get((kind, value))
        if known is not None:
            return known
        name = kind.upper()
        while True:
            number = self._counts[name] = self._counts.get(name, 0) + 1
            if f"{name}_{number}" not in self._reserved:
                break
        placeholder = self._by_value[kind, value] = f"[{name}_{number}]"
        if restores:
            self._values[f"{name}_{number}"] = value
            self._pattern = self._end = None
        return placeholder

    def restore(self, text: str, *, is_json: bool = False) -> str:
        """Return a text with the original values.

        :param is_json: the text is JSON, in which values are escaped.
        """
        if not self._values or "_" not in text:
            return text
        if self._pattern is None:
            names = "|".join(
                sorted({re.escape(name.rpartition("_")[0]).replace("_", r"\\{0,2}_") for name in self._values})
            )
            form = rf"((?i:{names}))\\{{0,2}}_(\d+)"
            bare = rf"{_BEFORE_BARE}({names})\\{{0,2}}_(\d+)(?![\w\]])"
            self._pattern = re.compile(rf"\\{{0,2}}\[{form}\\{{0,2}}\]|{bare}")

        def original(match: re.Match[str]) -> str:
            name = (match[1] or match[3]).replace("\\", "").upper()
            value = self._values.get(f"{name}_{match[2] or match[4]}")
            if value is None:
                return match[0]
            return json.dumps(value, ensure_ascii=False)[1:-1] if is_json else value

        return self._pattern.sub(original, text)

    def held_from(self, text: str) -> int:
        """Return from where the end of a text may be the start of a placeholder; its length if it cannot be."""
        if not self._values:
            return len(text)
        if self._end is None:
            names = sorted({name.rpartition("_")[0] for name in self._values})
            starts = {name[:size] for name in names for size in range(1, len(name))}
            begun = "|".join(map(re.escape, sorted(starts, key=len, reverse=True)))
            whole = "|".join(map(re.escape, names))
            form = rf"(?:{whole})(?:\\{{0,2}}(?:_\d{{0,9}}\\{{0,2}})?)?|{begun or '(?!)'}"
            self._end = re.compile(rf"(?:\\{{1,2}}\[?|\[)(?i:{form})?$|{_BEFORE_BARE}(?:{form})$")
        match = self._end.search(text, max(0, len(text) - _MAX_CHARS))
        return match.start() if match else len(text)
