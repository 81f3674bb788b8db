"""Reads the configuration: file, environment, arguments, in rising order; finds every mistake; knows every origin."""

from __future__ import annotations

import difflib
import functools
import math
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core.config.types import Config, SecretRef, is_catalog_file, is_hidden
from helmdeck_core.domain.models import Tier
from helmdeck_core.errors import ConfigError, Mistake
from helmdeck_core.redaction import NOT_SHOWN, shown_url

KeyPath = tuple[str, ...]

FILE_NAME = "helmdeck.toml"
ENV_PREFIX = "HELMDECK_"
ENV_SHORT: Mapping[str, KeyPath] = {
    "HELMDECK_DISABLE_PLUGINS": ("plugins", "disable"),
    "HELMDECK_PLUGIN_AUTOLOAD": ("plugins", "autoload"),
}
"""Variables with names of their own; every other key is ``HELMDECK_`` and the key, levels joined by two underscores."""

ENV_NOT_KEYS = frozenset({"HELMDECK_CONFIG"})
"""Variables that are not keys of the configuration."""

CHOICES: Mapping[str, str] = {
    "tier": "A, B, C",
    "bool": "true, false",
    "int": "a whole number of at least 0",
    "float": "a number of at least 0",
    "str": "a text",
}


@attrs.frozen
class Layer:
    """One place that says something: raw values and where each came from."""

    values: Mapping[str, Any]
    origin: Mapping[KeyPath, str]


@attrs.frozen
class LoadedConfig:
    """A configuration that can be used, and where each value came from.

    :ivar origins: dotted key to a file, a variable or an argument; keys that nobody set are defaults and not in it.
    :ivar mistakes: what is wrong; where it is not empty, the wrong values have been left out of ``config``.
    :ivar file: the file that was read.
    """

    config: Config
    origins: Mapping[KeyPath, str]
    mistakes: tuple[Mistake, ...] = ()
    file: Path | None = None


def load_config(
    *,
    file: Path | None = None,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[KeyPath, tuple[Any, str]] | None = None,
) -> LoadedConfig:
    """Read all layers and return what they come to, mistakes included.

    :param file: the file to read; else the variable ``HELMDECK_CONFIG``; else the nearest ``helmdeck.toml`` or
        ``pyproject.toml`` with a table ``[tool.helmdeck]``, from ``start`` upwards.
    :param environ: the environment variables; an empty mapping for none.
    :param arguments: key path to the value and the argument's name.
    """
    environ = environ if environ is not None else {}
    mistakes: list[Mistake] = []
    if file is None and (named := environ.get("HELMDECK_CONFIG")):
        file = Path(named).expanduser()
    path, layer = _file_layer(file, start, mistakes)
    layers = [layer, _env_layer(environ, mistakes), _argument_layer(arguments or {}, mistakes)]
    values: dict[str, Any] = {}
    origins: dict[KeyPath, str] = {}
    for each in layers:
        if isinstance(model := each.values.get("model"), str) and not model.strip():
            each = _without(each, "model")  # an empty setting is none
        _merge(values, each.values)
        origins.update(each.origin)
    config = _structured(values, origins, mistakes)
    if path is not None:
        config = _anchored(config, path.parent, lambda *key: key in origins and origins[key] == layer.origin.get(key))
    return LoadedConfig(config, {key: origins[key] for key in sorted(origins)}, tuple(mistakes), path)


def _anchored(config: Config, folder: Path, is_from_file: Callable[..., bool]) -> Config:
    """Read relative paths of a file from the file's own folder, wherever the command is given."""
    if is_from_file("catalog", "sources"):
        sources = (str(folder / name) if is_catalog_file(name) else name for name in config.catalog.sources)
        config = attrs.evolve(config, catalog=attrs.evolve(config.catalog, sources=tuple(sources)))
    providers = {
        name: attrs.evolve(
            provider, api_key=attrs.evolve(provider.api_key, target=str(folder / provider.api_key.target))
        )
        if is_from_file("providers", name, "api_key") and provider.api_key and provider.api_key.kind == "file"
        else provider
        for name, provider in config.providers.items()
    }
    return attrs.evolve(config, providers=providers)


def require(loaded: LoadedConfig) -> Config:
    """Return the configuration, or raise with every mistake."""
    if loaded.mistakes:
        raise ConfigError(loaded.mistakes)
    return loaded.config


# -- layers ----------------------------------------------------------------------------------------------


def _file_layer(file: Path | None, start: Path | None, mistakes: list[Mistake]) -> tuple[Path | None, Layer]:
    path = file or _nearest(start or Path.cwd())
    if path is None:
        return None, Layer({}, {})
    table = _read_toml(path, mistakes)
    name = path.name
    if name == "pyproject.toml":
        name = "pyproject.toml [tool.helmdeck]"
        table = table.get("tool", {}).get("helmdeck", {}) if isinstance(table.get("tool"), dict) else {}
    if not isinstance(table, dict):
        mistakes.append(Mistake(name, "not a table", type(table).__name__, "keys and tables"))
        table = {}
    return path, Layer(table, dict.fromkeys(_leaves(table), name))


def _nearest(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        if (own := folder / FILE_NAME).is_file():
            return own
        project = folder / "pyproject.toml"
        # Most projects have a pyproject.toml and few a table of ours: look before parsing.
        if project.is_file() and b"tool.helmdeck" in project.read_bytes() and _has_table(project):
            return project
    return None


def _has_table(project: Path) -> bool:
    """Whether the table is really there, and not only spoken of; a file that cannot be read is worth a complaint."""
    mistakes: list[Mistake] = []
    table = _read_toml(project, mistakes).get("tool")
    return bool(mistakes) or (isinstance(table, dict) and "helmdeck" in table)


def _read_toml(path: Path, mistakes: list[Mistake]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        mistakes.append(Mistake(str(path), f"the file cannot be read ({exc.strerror or exc})"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        mistakes.append(Mistake(str(path), f"not valid TOML ({exc})"))
    return {}


def _env_layer(environ: Mapping[str, str], mistakes: list[Mistake]) -> Layer:
    values: dict[str, Any] = {}
    origin: dict[KeyPath, str] = {}
    for variable in sorted(environ):
        if not variable.startswith(ENV_PREFIX) or variable in ENV_NOT_KEYS:
            continue
        path = ENV_SHORT.get(variable) or tuple(variable[len(ENV_PREFIX) :].lower().split("__"))
        found = _field_type(path)
        if found is None:
            allowed = ", ".join(f"{ENV_PREFIX}{name.upper()}" for name in _field_names(Config))
            mistakes.append(
                Mistake(f"environment {variable}", "there is no such key", "", f"{allowed} (__ between levels)")
            )
            continue
        if not environ[variable].strip() and typing.get_origin(_without_none(found)) is not tuple:
            continue  # how a variable is unset where variables cannot be; only a list may be empty
        _put(values, path, _env_value(environ[variable], found), f"environment {variable}", mistakes)
        origin[path] = f"environment {variable}"
    return Layer(values, origin)


def _env_value(text: str, wanted: Any) -> Any:
    """Read a variable as the type that its key wants; what does not fit stays text and is reported as a mistake."""
    if typing.get_origin(_without_none(wanted)) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    if _without_none(wanted) is bool and text.strip() in ("0", "1"):
        return text.strip() == "1"
    if _without_none(wanted) in (bool, int, float):
        try:
            return tomllib.loads(f"value = {text.strip().lower()}")["value"]
        except tomllib.TOMLDecodeError:
            return text
    return text


def _argument_layer(arguments: Mapping[KeyPath, tuple[Any, str]], mistakes: list[Mistake]) -> Layer:
    values: dict[str, Any] = {}
    for path, (value, name) in arguments.items():
        _put(values, path, value, f"argument {name}", mistakes)
    return Layer(values, {path: f"argument {name}" for path, (_, name) in arguments.items()})


def _put(values: dict[str, Any], path: KeyPath, value: Any, where: str, mistakes: list[Mistake]) -> None:
    for number, key in enumerate(path[:-1], 1):
        values = values.setdefault(key, {})
        if not isinstance(values, dict):
            taken = dotted(path[:number])
            mistakes.append(
                Mistake(
                    where,
                    f"{taken} is given as a value and as a table",
                    _shown(values, path[:number]),
                    "one of the two",
                )
            )
            return
    values[path[-1]] = value


def _without(layer: Layer, key: str) -> Layer:
    values = {name: value for name, value in layer.values.items() if name != key}
    return Layer(values, {path: origin for path, origin in layer.origin.items() if path[0] != key})


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = _copied(value)


def _copied(value: Any) -> Any:
    return {key: _copied(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _leaves(table: Mapping[str, Any], above: KeyPath = ()) -> Iterator[KeyPath]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key)


# -- types -----------------------------------------------------------------------------------------------


def _field_names(cls: Any) -> list[str]:
    return [field.name for field in attrs.fields(cls)]


def _without_none(annotation: Any) -> Any:
    kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    return kinds[0] if type(None) in typing.get_args(annotation) and len(kinds) == 1 else annotation


def _field_type(path: KeyPath) -> Any:
    """The type of a key, or ``None`` when there is no such key."""
    current: Any = Config
    for key in path:
        current = _without_none(current)
        if attrs.has(current):
            hints = typing.get_type_hints(current)
            if key not in _field_names(current):
                return None
            current = hints[key]
        elif typing.get_args(current) and typing.get_origin(current) is not tuple:
            current = typing.get_args(current)[1]
        else:
            return None
    return current


# -- structuring -----------------------------------------------------------------------------------------


def _structured(values: dict[str, Any], origins: dict[KeyPath, str], mistakes: list[Mistake]) -> Config:
    if not values:  # nothing to read: do not pay for importing cattrs
        return Config()
    from cattrs.errors import BaseValidationError

    convert = _converter()
    while True:
        try:
            return typing.cast(Config, convert.structure(values, Config))
        except BaseValidationError as exc:
            wrong = list(_wrong(exc, ()))
            for path, error in wrong:
                mistakes.append(_mistake(path, error, values, origins))
            for path, _ in wrong:
                _remove(values, path)
                for key in [key for key in origins if key[: len(path)] == path]:
                    del origins[key]


@functools.cache  # cattrs compiles a function for each class, which takes longer than all else of a configuration
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
    converter.register_structure_hook_func(_is_tuple, lambda value, _: _texts(value))
    return converter


def _is_tuple(annotation: Any) -> bool:
    return typing.get_origin(annotation) is tuple


def _strict(kind: type[str | bool | int | float]) -> Any:
    """Accept the very type, and a whole number where a number is wanted; cattrs alone would turn ``"no"`` into true."""

    def structure(value: Any, _: Any) -> Any:
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise _Refused(f"not {_articled(kind)}", _allowed(kind))
        if isinstance(value, float) and not math.isfinite(value):
            raise _Refused("not a finite number", _allowed(kind))
        if not isinstance(value, (str, bool)) and value < 0:
            raise _Refused("below 0", _allowed(kind))
        return value

    return structure


def option_problem(value: Any, default: Any) -> tuple[str, str] | None:
    """What is wrong with an option of a plugin's and what is allowed, by the type of its default; ``None`` if nothing is."""
    try:
        _strict(type(default))(value, None)
    except _Refused as refused:
        return refused.problem, refused.allowed
    return None


class _Refused(ValueError):
    def __init__(self, problem: str, allowed: str, *, is_secret: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.allowed, self.is_secret = problem, allowed, is_secret


def _articled(kind: type) -> str:
    return {"str": "a text", "bool": "true or false", "int": "a whole number", "float": "a number"}[kind.__name__]


def _allowed(kind: type) -> str:
    return CHOICES[kind.__name__]


def _tier(value: Any) -> Tier:
    try:
        return Tier(str(value).strip().upper())
    except ValueError:
        raise _Refused("not a tier", CHOICES["tier"]) from None


def _secret(value: Any) -> SecretRef:
    kind, colon, target = value.partition(":") if isinstance(value, str) else ("", "", "")
    target = target.strip()
    # A key that was typed in behind env: is no name of a variable.
    is_named = target.replace("_", "").isalnum() if kind == "env" else kind == "file" and target
    if not colon or not is_named:
        raise _Refused("not a reference to a secret", "env:NAME_OF_A_VARIABLE or file:PATH", is_secret=True)
    return SecretRef(kind, target)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _Refused("not a list of texts", 'a list such as ["a", "b"]')
    return tuple(value)


# -- mistakes --------------------------------------------------------------------------------------------


def _wrong(exc: Any, above: KeyPath) -> Iterator[tuple[KeyPath, Exception]]:
    """Walk an error of cattrs down to the single keys."""
    from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

    for error in exc.exceptions:
        note = next((n for n in getattr(error, "__notes__", ()) if hasattr(n, "name") or hasattr(n, "index")), None)
        key = getattr(note, "name", None) or getattr(note, "index", None)
        path = above if key is None else (*above, str(key))
        if isinstance(error, BaseValidationError):
            yield from _wrong(error, path)
        elif isinstance(error, ForbiddenExtraKeysError):
            for name in sorted(error.extra_fields):
                yield (*path, name), error
        else:
            yield path, error


def _mistake(path: KeyPath, error: Exception, values: Mapping[str, Any], origins: Mapping[KeyPath, str]) -> Mistake:
    origin = next((origins[key] for key in origins if key[: len(path)] == path), "")
    where = f"{origin}: {dotted(path)}" if origin else dotted(path)
    value = _at(values, path)
    if isinstance(error, _Refused):
        # A refused secret may be the secret itself, typed in where its reference belongs; of a table, the key is refused.
        found = (
            "a text (not shown)" if error.is_secret else _shown(path[-1] if isinstance(value, Mapping) else value, path)
        )
        return Mistake(where, error.problem, found, error.allowed)
    parent = _field_type(path[:-1]) if path[:-1] else Config
    if attrs.has(parent) and path[-1] not in (names := _field_names(parent)):
        close = difflib.get_close_matches(path[-1], names, n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        return Mistake(where, f"there is no such key{meant}", "", ", ".join(names))
    return Mistake(where, "not a table", _shown(value, path), "a table of keys")


def dotted(path: KeyPath) -> str:
    """The key as TOML would write it."""
    return ".".join(key if key.replace("_", "").replace("-", "").isalnum() else f'"{key}"' for key in path)


def _shown(value: Any, path: KeyPath) -> str:
    if is_hidden(path):
        return NOT_SHOWN
    text = shown_url(repr(value)) if path[-1] in ("base_url", "url") else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _at(values: Any, path: KeyPath) -> Any:
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _remove(values: dict[str, Any], path: KeyPath) -> None:
    for key in path[:-1]:
        values = values.get(key, {})
    values.pop(path[-1], None)
