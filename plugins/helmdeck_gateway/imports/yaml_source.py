"""A YAML file with the line of each value. References to environment variables stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from helmdeck_core import undecodable_byte
from helmdeck_core.cli import UsageError

if TYPE_CHECKING:
    import yaml

Place = tuple[str | int, ...]
"""The position of a value, such as ``("model_list", 0, "model_name")``."""

MAX_BYTES: Final = 2_000_000
MAX_VALUES: Final = 20_000
"""Values of a file; aliases could multiply them."""

MAX_DEPTH: Final = 40
MISSING: Final = "YAML is read by PyYAML; pip install 'helmdeck[litellm]'"


@attrs.frozen(kw_only=True)
class YamlSource:
    """The values of a file.

    :ivar lines: the line of each value, and of each table and list, from 1.
    :ivar leaves: the places of the values that are no tables or lists, in the order of the file.
    :ivar repeated: places with the lines of their earlier values, which a later value in the same table replaces.
    """

    data: Mapping[str, Any]
    lines: Mapping[Place, int]
    leaves: tuple[Place, ...]
    repeated: tuple[tuple[Place, int], ...] = ()

    @classmethod
    def read(cls, path: Path) -> YamlSource:
        """Read a file.

        :raises UsageError: it cannot be read, or is no YAML table.
        """
        try:
            import yaml
        except ImportError as exc:
            raise UsageError(MISSING) from exc
        try:
            if path.stat().st_size > MAX_BYTES:
                raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes")
            text = path.read_text(encoding="utf-8-sig")
        except OSError as exc:
            raise UsageError(f"{path}: the file cannot be read ({exc.strerror or exc})") from exc
        except UnicodeDecodeError as exc:
            raise UsageError(f"{path}: {undecodable_byte(exc)}") from exc
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            reader = _Reader(loader)
            data = reader.value(node, (), 0) if node is not None else {}
        except yaml.MarkedYAMLError as exc:  # its text may repeat a line of the file
            line = exc.problem_mark.line + 1 if exc.problem_mark is not None else 1
            raise UsageError(f"{path}, line {line}: {exc.problem or 'the YAML is malformed'}") from None
        except (yaml.YAMLError, RecursionError, ValueError) as exc:
            detail = str(exc) if isinstance(exc, _TooLargeError) else "the YAML is malformed"
            raise UsageError(f"{path}: {detail}") from None
        finally:
            loader.dispose()
        if not isinstance(data, Mapping):
            raise UsageError(f"{path} has no settings: expected a table with model_list")
        return cls(data=data, lines=reader.lines, leaves=tuple(reader.leaves), repeated=tuple(reader.repeated))

    def children(self, *place: str | int) -> Iterator[tuple[Place, Any]]:
        """Yield the values of a table or list; nothing for another value, or a place that there is not."""
        found = self.at(*place)
        if isinstance(found, Mapping):
            yield from (((*place, name), value) for name, value in found.items())
        elif isinstance(found, list):
            yield from (((*place, index), value) for index, value in enumerate(found))

    def at(self, *place: str | int) -> Any:
        """Return a value; ``None`` if there is none."""
        value: Any = self.data
        for part in place:
            if isinstance(part, str):
                value = value.get(part) if isinstance(value, Mapping) else None
            else:
                value = value[part] if isinstance(value, list) and part < len(value) else None
        return value


class _TooLargeError(ValueError):
    pass


class _Reader:
    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._count = 0
        self.lines: dict[Place, int] = {}
        self.leaves: list[Place] = []
        self.repeated: list[tuple[Place, int]] = []
        self._flat: set[int] = set()

    def value(self, node: yaml.Node, place: Place, depth: int) -> Any:
        import yaml

        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise _TooLargeError(f"the YAML has more than {MAX_VALUES:,} values, or is nested too deeply")
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode) and node.tag.endswith(":map"):
            table: dict[str, Any] = {}
            for name, (key, value) in self._rows(node, place).items():
                self.lines[*place, name] = key.start_mark.line + 1
                table[name] = self.value(value, (*place, name), depth + 1)
            return self._own(table, place)
        if isinstance(node, yaml.SequenceNode) and node.tag.endswith(":seq"):
            rows = enumerate(node.value)
            return self._own([self.value(each, (*place, index), depth + 1) for index, each in rows], place)
        self.leaves.append(place)
        return self._loader.construct_object(node)

    def _rows(self, node: yaml.MappingNode, place: Place) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The keys and values of a table; the last of several values of a key is valid, as in PyYAML."""
        if id(node) not in self._flat:  # an alias leads to the same node again, which has its merged rows by then
            self._flat.add(id(node))
            seen: dict[str, int] = {}
            for key, _ in node.value:
                name = str(key.value)
                if name in seen and not key.tag.endswith(":merge"):
                    self.repeated.append(((*place, name), seen[name]))
                seen[name] = key.start_mark.line + 1
            self._loader.flatten_mapping(node)
        return {str(key.value): (key, value) for key, value in node.value}

    def _own(self, value: Any, place: Place) -> Any:
        if not value and place:  # an empty table or list is a setting of its own
            self.leaves.append(place)
        return value


def shown(place: Place) -> str:
    """Return a place as users write it, such as ``model_list[0].model_name``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def quoted(value: Any) -> str:
    """Return a value for a message; a table or list is only named, because it can contain a secret."""
    if isinstance(value, Mapping | list):
        return "(a table)" if isinstance(value, Mapping) else "(a list)"
    return repr(str(value)[:60])
