"""Configuration keys that were renamed or removed: a renamed one keeps working, and each use is a warning.

Add a row to ``DEPRECATED_KEYS`` when a key is renamed or removed; without the row, the old key is a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core.config.structure import KeyPath, copied, dotted, field_type
from helmdeck_core.config.types import Config


class DeprecatedKeyWarning(UserWarning):
    """The configuration sets a key that was renamed or removed."""


@attrs.frozen
class DeprecatedKey:
    """A key that users should no longer set.

    :ivar old: its path, such as ``("history", "days")``; ``*`` stands for any name of a table, such as that of a provider.
    :ivar new: the path of its successor, with ``*`` at the same names; ``None`` if there is none, so the key has no effect.
    :ivar since: the version of the change.
    :ivar hint: what else users have to know.
    """

    old: KeyPath
    new: KeyPath | None
    since: str
    hint: str = ""

    def successor(self, path: KeyPath) -> KeyPath | None:
        """Return the path that replaces one that matches, with its names."""
        names = iter([name for pattern, name in zip(self.old, path, strict=True) if pattern == "*"])
        return None if self.new is None else tuple(next(names) if each == "*" else each for each in self.new)

    def matches(self, path: KeyPath) -> bool:
        """Whether a path is the deprecated key."""
        return len(path) == len(self.old) and all(
            each in ("*", name) for each, name in zip(self.old, path, strict=True)
        )


DEPRECATED_KEYS: tuple[DeprecatedKey, ...] = ()
"""All deprecated keys; none yet."""


def key_type(path: KeyPath) -> Any:
    """Return the type of a configuration key, that of its successor for a deprecated key; ``None`` for an unknown key."""
    key = next((each for each in DEPRECATED_KEYS if each.matches(path)), None)
    if key is None:
        return field_type(path, Config)
    new = key.successor(path)
    return str if new is None else field_type(new, Config)


def replace_deprecated(
    values: Mapping[str, Any], origin: Mapping[KeyPath, str]
) -> tuple[Mapping[str, Any], Mapping[KeyPath, str], tuple[str, ...]]:
    """Return the values and origins of one source with the successors of deprecated keys, and a warning for each such key."""
    found = [(path, key) for key in DEPRECATED_KEYS for path in _paths(values, key.old)]
    if not found:
        return values, origin, ()
    replaced, origins, warnings = copied(values), dict(origin), []
    for old, key in found:
        new = key.successor(old)
        value = _popped(replaced, old)
        moved = {path[len(old) :]: origins.pop(path) for path in list(origins) if path[: len(old)] == old}
        if new is None:
            use = "has no effect"
        elif _put_if_unset(replaced, new, value):
            use = f"use {dotted(new)}"
            origins.update({(*new, *rest): source for rest, source in moved.items()})
        else:
            use = f"has no effect, because {dotted(new)} is set"
        hint = f" ({key.hint})" if key.hint else ""
        source = next(iter(moved.values()), "the configuration")
        warnings.append(f"{source}: {dotted(old)} is deprecated since {key.since}; {use}{hint}")
    return replaced, origins, tuple(warnings)


def _paths(values: Any, pattern: KeyPath, above: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of the values that a pattern matches."""
    if not pattern:
        yield above
    elif isinstance(values, Mapping):
        for name in values if pattern[0] == "*" else pattern[:1]:
            if name in values:
                yield from _paths(values[name], pattern[1:], (*above, name))


def _popped(values: dict[str, Any], path: KeyPath) -> Any:
    """Remove and return a value; a table that becomes empty is removed with it."""
    if len(path) == 1:
        return values.pop(path[0])
    table = values[path[0]]
    value = _popped(table, path[1:])
    if not table:
        del values[path[0]]
    return value


def _put_if_unset(values: dict[str, Any], path: KeyPath, value: Any) -> bool:
    """Set a value unless the key has one, or a table of it is a single value; return whether it was set."""
    for name in path[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            return False
    if path[-1] in values:
        return False
    values[path[-1]] = value
    return True
