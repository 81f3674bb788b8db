"""Checks contributed values against the types of their class, so that mistakes in a plugin are found at start-up."""

from __future__ import annotations

import collections.abc
import enum
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

import attrs


def misfit(value: Any) -> str | None:
    """Return which field of an attrs value does not have its declared type; ``None`` if all do."""
    known = _KNOWN.get(type(value)) or _fields(type(value))
    for (name, types_, default, fits, hint), each in zip(known[1], known[0](value), strict=True):
        if type(each) not in types_ and each is not default and not fits(each):
            inner = misfit(each) if _is_attrs(type(each)) else None
            return f"{name} is {each!r:.80}, not {_shown(hint)}" if inner is None else f"{name}.{inner}"
    return None


Fits = Callable[[Any], bool]
Fields = tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[str, frozenset[type], Any, Fits, Any], ...]]

_KNOWN: dict[Any, Fields] = {}


def _fields(cls: Any) -> Fields:
    """Return a getter of the fields of a class, and their type tests; cached, since every response is checked.

    Most values need only the exact type test, or are the default itself.
    """
    hints = typing.get_type_hints(cls)
    defaults = {field.name: field.default for field in attrs.fields(cls)}
    names = tuple(defaults)
    rows = tuple(
        (name, _plain_types(hints[name]), defaults[name], _test_of(hints[name]), hints[name]) for name in names
    )
    getter = operator.attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, n) for n in names)
    _KNOWN[cls] = (getter, rows)
    return _KNOWN[cls]


def _plain_types(hint: Any) -> frozenset[type]:
    """The types whose direct instances always fit."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return frozenset().union(*map(_plain_types, typing.get_args(hint)))
    if hint is float:
        return frozenset((int, float))
    is_plain = hint in (str, int, bool, bytes, type(None)) or (isinstance(hint, type) and issubclass(hint, enum.Enum))
    return frozenset((hint,)) if is_plain else frozenset()


def _test_of(hint: Any) -> Fits:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return lambda _: True
    if origin in (typing.Union, types.UnionType):
        tests = [_test_of(each) for each in arguments if each is not type(None)]
        if len(tests) == 1 and len(arguments) == 2:
            (test,) = tests
            return lambda value: value is None or test(value)
        may_be_none = type(None) in arguments
        return lambda value: (value is None and may_be_none) or any(test(value) for test in tests)
    if hint is None or hint is type(None):
        return lambda value: value is None
    if origin is collections.abc.Callable:
        return callable
    if origin is tuple:
        each = _test_of(arguments[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if origin is collections.abc.Mapping:
        key, item = map(_test_of, arguments)
        return lambda value: (
            isinstance(value, collections.abc.Mapping) and all(key(k) and item(v) for k, v in value.items())
        )
    if hint in (float, int):
        kinds = (int, float) if hint is float else (int,)
        return lambda value: isinstance(value, kinds) and not isinstance(value, bool)
    plain = origin or hint
    if not attrs.has(plain) and (plain.__module__ == "builtins" or issubclass(plain, enum.Enum)):
        return lambda value: isinstance(value, plain)
    # Nested values, such as the budget of a row, are contributed as well.
    return lambda value: isinstance(value, plain) and (not _is_attrs(type(value)) or misfit(value) is None)


_ATTRS: dict[type, bool] = {}


def _is_attrs(cls: type) -> bool:
    if cls not in _ATTRS:
        _ATTRS[cls] = attrs.has(cls)
    return _ATTRS[cls]


def _shown(hint: Any) -> str:
    if typing.get_origin(hint) is collections.abc.Callable:
        return "a function"
    return (
        hint.__name__
        if isinstance(hint, type) and not typing.get_args(hint)
        else str(hint).replace("collections.abc.", "")
    )
