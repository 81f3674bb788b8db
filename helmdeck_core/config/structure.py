"""Converts plain data into attrs classes: the configuration, and the options of plugins. Reports every mistake at once."""

from __future__ import annotations

import enum
import math
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, TypeVar

import attrs

from helmdeck_core.config.types import Config, SecretRef, is_hidden
from helmdeck_core.config.validators import Invalid
from helmdeck_core.domain.models import Tier
from helmdeck_core.errors import ConfigError, Mistake
from helmdeck_core.redaction import NOT_SHOWN
from helmdeck_core.secret_places import looks_like_a_secret, shown_url
from helmdeck_core.suggestions import did_you_mean

KeyPath = tuple[str, ...]
Origins = Mapping[KeyPath, str]
T = TypeVar("T")


MAX_MISTAKES = 200
"""Mistakes that are described; a file with more is not a configuration, and each one is compared with all known keys."""


def read_options(options: Mapping[str, Any], cls: type[T], *where: str) -> T:
    """Convert the options of a plugin into an attrs class; options that are not given keep their defaults.

    Fields may be strings, booleans, integers and floats of at least 0, ``Literal``, ``SecretRef``, tuples, mappings, other
    attrs classes, and unions of one of these with ``None``.

    :param cls: a class whose field names are the allowed options.
    :param where: the keys under which the options are configured, such as ``providers``, ``acme``, ``options``.
    :raises ConfigError: with every mistake: unknown options with the most similar known one, wrong types, and the problems
        that validators of ``cls`` find.

    >>> import attrs
    >>> from helmdeck_core import above_zero, read_options
    >>> @attrs.frozen(kw_only=True)
    ... class Options:
    ...     region: str = "eu"
    ...     timeout_s: float = attrs.field(default=30.0, validator=above_zero)
    >>> read_options({"region": "us"}, Options, "providers", "acme", "options")
    Options(region='us', timeout_s=30.0)
    >>> read_options({"regoin": "us", "timeout_s": 0}, Options, "providers", "acme", "options")
    Traceback (most recent call last):
        ...
    helmdeck_core.errors.base.ConfigError: the configuration cannot be used: providers.acme.options.regoin: unknown option (did you mean 'region'?); allowed: region, timeout_s
    """
    if not options and all(field.default is not attrs.NOTHING for field in attrs.fields(typing.cast(Any, cls))):
        return cls()  # avoids the import of cattrs
    values = copied(options)
    value, wrong = _structured(values, cls)
    if value is None:
        raise ConfigError(tuple(_mistake(path, error, values, cls, {}, where) for path, error in wrong))
    return value


def structured_config(values: dict[str, Any], origins: dict[KeyPath, str], mistakes: list[Mistake]) -> Config:
    """Convert ``values`` into the configuration. Wrong values are removed from it and added to ``mistakes``.

    :param origins: where each value comes from; origins of removed values are removed.
    """
    if not values:  # avoids the import of cattrs
        return Config()
    while True:
        config, wrong = _structured(values, Config)
        if config is not None:
            return config
        mistakes += [_mistake(path, error, values, Config, origins, ()) for path, error in wrong[:MAX_MISTAKES]]
        if len(wrong) > MAX_MISTAKES:
            mistakes.append(Mistake(dotted(wrong[-1][0]), f"one of {len(wrong) - MAX_MISTAKES} further mistakes"))
        removed = {path for path, _ in wrong}
        for path in removed:
            _remove(values, path)
        for key in [key for key in origins if any(key[:size] in removed for size in range(len(key) + 1))]:
            del origins[key]


def _structured(values: Mapping[str, Any], cls: type[T]) -> tuple[T | None, list[tuple[KeyPath, Exception]]]:
    from cattrs.errors import BaseValidationError

    try:
        return _converter().structure(values, cls), []
    except BaseValidationError as exc:
        order = {key: place for place, key in enumerate(values)}
        return None, sorted(_wrong(exc, ()), key=lambda wrong: order.get(wrong[0][0], len(order)) if wrong[0] else -1)


def value_problem(value: Any, kind: type) -> Invalid | None:
    """Return what is wrong with a single value of type str, bool, int or float; ``None`` if nothing is."""
    try:
        _strict(kind)(value, None)
    except Invalid as invalid:
        return invalid
    return None


def field_type(path: KeyPath, cls: Any) -> Any:
    """Return the type of a key below ``cls``, or ``None`` if there is no such key."""
    for key in path:
        cls = without_none(cls)
        if attrs.has(cls):
            if key not in attrs.fields_dict(cls):
                return None
            cls = _type_hints(cls)[key]
        elif typing.get_origin(cls) is tuple:
            cls = typing.get_args(cls)[0]
            if not (attrs.has(cls) and key.isdecimal()):
                return None
        elif typing.get_args(cls):
            cls = typing.get_args(cls)[1]
        else:
            return None
    return cls


@lru_cache(64)  # environments may have thousands of variables
def _type_hints(cls: Any) -> Mapping[str, Any]:
    return typing.get_type_hints(cls)


def without_none(annotation: Any) -> Any:
    """Return ``T`` for ``T | None``; every other annotation unchanged."""
    kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    return kinds[0] if type(None) in typing.get_args(annotation) and len(kinds) == 1 else annotation


def copied(value: Any) -> Any:
    """Return mappings as new dictionaries, at every depth."""
    return {key: copied(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def dotted(path: KeyPath) -> str:
    """Return the key in TOML syntax.

    >>> from helmdeck_core import dotted
    >>> dotted(("budgets", "acme/large", "tier"))
    'budgets."acme/large".tier'
    """
    return ".".join(key if key.replace("_", "").replace("-", "").isalnum() else f'"{key}"' for key in path)


def shown(value: Any, path: KeyPath) -> str:
    """Return a value for a message: shortened, and hidden if it may be a secret."""
    if is_hidden(path):
        return NOT_SHOWN
    if isinstance(value, str) and looks_like_a_secret(value):
        return NOT_SHOWN
    text = shown_url(repr(value)) if path[-1] in ("base_url", "url") else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# -- types -----------------------------------------------------------------------------------------------


@cache
def _converter() -> Any:
    from cattrs import Converter
    from cattrs.gen import make_dict_structure_fn

    converter = Converter(forbid_extra_keys=True, detailed_validation=True)
    converter.register_structure_hook_factory(
        attrs.has,
        lambda cls: make_dict_structure_fn(
            cls, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
        ),
    )
    for kind in (str, bool, int, float):
        converter.register_structure_hook(kind, _strict(kind))
    converter.register_structure_hook(Tier, lambda value, _: _tier(value))
    converter.register_structure_hook(SecretRef, lambda value, _: _secret(value))
    converter.register_structure_hook_func(_is_literal, _literal)
    converter.register_structure_hook_func(_is_tuple, _tuple)
    return converter


_TYPES: Mapping[type, tuple[str, str]] = {
    str: ("not a string", "a string"),
    bool: ("not a boolean", "true, false"),
    int: ("not an integer", "an integer of at least 0"),
    float: ("not a number", "a number of at least 0"),
}
"""For each type: the problem of a value of another type, and what is allowed."""


def _strict(kind: type) -> Callable[[Any, Any], Any]:
    """Accept the exact type, and an integer for a float; cattrs alone would convert ``"no"`` to ``True``. Also for ``StrEnum``."""
    problem, allowed = _TYPES[kind]

    def structure(value: Any, target: Any) -> Any:
        if isinstance(target, type) and issubclass(target, enum.StrEnum):
            return _member(value, target)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise Invalid(problem, allowed)
        if isinstance(value, float) and not math.isfinite(value):
            raise Invalid("not a finite number", allowed)
        if isinstance(value, (int, float)) and value < 0:
            raise Invalid("below 0", allowed)
        return value

    return structure


def _tier(value: Any) -> Tier:
    try:
        return Tier(str(value).strip().upper())
    except ValueError:
        raise Invalid("not a tier", ", ".join(Tier)) from None


def _member(value: Any, kind: type[enum.StrEnum]) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise Invalid("not one of the allowed values", ", ".join(kind)) from None


def _secret(value: Any) -> SecretRef:
    kind, colon, target = value.partition(":") if isinstance(value, str) else ("", "", "")
    target = target.strip()
    # A key that was typed in after env: is not the name of a variable.
    is_named = target.replace("_", "").isalnum() if kind == "env" else kind == "file" and target
    if not colon or not is_named:
        raise Invalid("not a reference to a secret", "env:NAME_OF_A_VARIABLE or file:PATH", is_secret=True)
    return SecretRef(kind, target)


def _is_literal(kind: Any) -> bool:
    return bool(typing.get_origin(kind) == typing.Literal)


def _literal(value: Any, kind: Any) -> Any:
    choices = typing.get_args(kind)
    if value not in choices or isinstance(value, bool):
        raise Invalid("not one of the allowed values", ", ".join(map(repr, choices)))
    return value


def _is_tuple(kind: Any) -> bool:
    return typing.get_origin(kind) in (tuple,)


def _tuple(value: Any, kind: Any) -> tuple[Any, ...]:
    element = typing.get_args(kind)[0]
    is_plain = element is str or _is_literal(element)
    if not isinstance(value, (list, tuple)) or (is_plain and not all(isinstance(each, str) for each in value)):
        problem = "not a list of strings" if is_plain else "not a list"
        raise Invalid(problem, 'a list such as ["a", "b"]' if is_plain else "a list")
    if is_plain:
        return tuple(_literal(each, element) for each in value) if _is_literal(element) else tuple(value)
    return tuple(value if element is Any else _converter().structure(value, list.__class_getitem__(element)))


# -- mistakes --------------------------------------------------------------------------------------------


def _wrong(exc: Any, above: KeyPath) -> Iterator[tuple[KeyPath, Exception]]:
    """Walk an error of cattrs down to the single keys."""
    from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

    for error in exc.exceptions:
        notes = getattr(error, "__notes__", ())
        key = next((n.name if hasattr(n, "name") else n.index for n in notes if hasattr(n, "type")), None)
        path = above if key is None else (*above, str(key))
        if isinstance(error, BaseValidationError):
            yield from _wrong(error, path)
        elif isinstance(error, ForbiddenExtraKeysError):
            for name in sorted(error.extra_fields):
                yield (*path, name), error
        else:
            yield (*path, *filter(None, (getattr(error, "field", ""),))), error


def _mistake(
    path: KeyPath, error: Exception, values: Mapping[str, Any], cls: Any, origins: Origins, above: KeyPath
) -> Mistake:
    origin = next((origins[key] for key in origins if key[: len(path)] == path or path[: len(key)] == key), "")
    full = (*above, *path)
    where = f"{origin}: {dotted(full)}" if origin else dotted(full)
    value = _at(values, path)
    if isinstance(error, Invalid):
        if error.is_secret:
            # The value may be the secret itself instead of its reference.
            return Mistake(where, error.problem, "a string (not shown)", error.allowed)
        # A mapping fails by its key.
        found = shown(path[-1] if isinstance(value, Mapping) else value, full)
        return Mistake(where, error.problem, found, error.allowed)
    if not path:
        return Mistake(where, str(error))
    if isinstance(error, KeyError):
        return Mistake(where, "missing")
    parent = field_type(path[:-1], cls)
    if attrs.has(parent) and path[-1] not in (names := list(attrs.fields_dict(parent))):
        kind = "option" if above else "key"
        return Mistake(where, f"unknown {kind}{did_you_mean(path[-1], names)}", "", ", ".join(names))
    return Mistake(where, "not a table", shown(value, full), _expected_table(path, cls, above))


def _expected_table(path: KeyPath, cls: Any, above: KeyPath) -> str:
    """What to write in place of a value that is not a table; where the keys are names, the name is easily forgotten."""
    full = (*above, *path)
    if _has_tables_by_name(path, cls):
        return f"a table for each name, such as [{dotted((*full, 'NAME'))}]"
    if _has_tables_by_name(path[:-1], cls):
        named = dotted((*full[:-1], "NAME"))
        return f"a table [{dotted(full)}]; if {path[-1]} is a key, write it below a table with a name, [{named}]"
    return "a table of keys"


def _has_tables_by_name(path: KeyPath, cls: Any) -> bool:
    kind = without_none(field_type(path, cls))
    values: Any = (typing.get_args(kind) or (None,))[-1]
    return typing.get_origin(kind) is Mapping and (attrs.has(values) or typing.get_origin(values) is Mapping)


def _at(values: Any, path: KeyPath) -> Any:
    for key in path:
        is_list = isinstance(values, (list, tuple)) and key.isdecimal()
        values = values[int(key)] if is_list else values.get(key) if isinstance(values, Mapping) else None
    return values


def _remove(values: dict[str, Any], path: KeyPath) -> None:
    *above, last = path
    for key in above:
        if not isinstance(values.get(key, {}), dict):  # a list with an invalid element is removed as a whole
            last = key
            break
        values = values.get(key, {})
    values.pop(last, None)
