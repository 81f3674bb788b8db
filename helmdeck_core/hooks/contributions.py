"""All contributed values. Their types come from the hook specifications, so a new hook needs no entry here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, TypeVar

from helmdeck_core import hookspecs
from helmdeck_core.errors import PluginError
from helmdeck_core.hooks import calls as hook_calls
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.manager import GROUP, Plugins

T = TypeVar("T")
Named = Mapping[str, Contribution[T]]


@cache
def hook_specifications() -> Mapping[str, FunctionType]:
    """Every hook specification by name, in source order.

    >>> from helmdeck_core import hook_specifications
    >>> "helmdeck_budget_rows" in hook_specifications()
    True
    """
    return {
        name: value
        for module in hookspecs.MODULES
        for name, value in vars(module).items()
        if hasattr(value, f"{GROUP}_spec")
    }


def is_lookup(specification: FunctionType) -> bool:
    """Whether a hook is a lookup; every other hook is a contribution."""
    return bool(getattr(specification, f"{GROUP}_spec").get("firstresult"))


@cache
def _hooks() -> Mapping[type, str]:
    """The contribution hook of each value type, read from the return annotations of the specifications.

    The types are public names, which are imported here, when the first deck is made.
    """
    public = import_module("helmdeck_core")
    found: dict[type, str] = {}
    for name, specification in hook_specifications().items():
        if not is_lookup(specification):
            annotation: str = specification.__annotations__["return"]
            value_type = getattr(public, annotation.removeprefix("Sequence[").removesuffix("]"))
            assert value_type not in found, f"{name} and {found[value_type]} contribute the same type"
            found[value_type] = name
    return found


class Contributions(Mapping[str, tuple[Contribution[Any], ...]]):
    """The contributed values by hook, each tuple in its final order; ``of`` and ``by_name`` select by value type."""

    def __init__(self, by_hook: Mapping[str, tuple[Contribution[Any], ...]]) -> None:
        self._by_hook = dict(by_hook)
        self._by_type = {
            kind: {contribution.value.name: contribution for contribution in self._by_hook.get(hook, ())}
            for kind, hook in _hooks().items()
        }

    def __getitem__(self, hook: str) -> tuple[Contribution[Any], ...]:
        return self._by_hook[hook]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_hook)

    def __len__(self) -> int:
        return len(self._by_hook)

    def by_name(self, value_type: type[T]) -> Named[T]:
        """The values of one type by name, with their owners."""
        return self._by_type[value_type]

    def of(self, value_type: type[T]) -> tuple[Contribution[T], ...]:
        """The values of one type, with their owners."""
        return tuple(self._by_type[value_type].values())

    def values_of(self, value_type: type[T]) -> tuple[T, ...]:
        """The values of one type."""
        return tuple(contribution.value for contribution in self.of(value_type))

    def replaced(self, changed: Mapping[type, tuple[Contribution[Any], ...]]) -> Contributions:
        """The same with other values for some types."""
        return Contributions({**self._by_hook, **{_hooks()[kind]: values for kind, values in changed.items()}})


def collect_all(plugins: Plugins, errors: list[PluginError] | None = None) -> Contributions:
    """Call every contribution hook once.

    :param errors: a list that receives the errors of contributions, which are then left out; without it, they are raised.
    :raises PluginError: a plugin raised, or returned what the hook's specification forbids.
    """
    return Contributions({hook: hook_calls.collect(plugins, hook, kind, errors) for kind, hook in _hooks().items()})
