"""Loads the configuration: file, environment and arguments, in rising precedence; finds every mistake and every origin."""

from __future__ import annotations

import tomllib
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core.config.deprecated_keys import DeprecatedKeyWarning, key_type, replace_deprecated
from helmdeck_core.config.structure import KeyPath, copied, dotted, shown, structured_config, without_none
from helmdeck_core.config.types import Config, SecretRef, is_catalog_file
from helmdeck_core.encoding import undecodable_byte, without_byte_order_mark
from helmdeck_core.errors import ConfigError, Mistake
from helmdeck_core.suggestions import did_you_mean

FILE_NAME = "helmdeck.toml"
ENV_PREFIX = "HELMDECK_"
ENV_SHORT: Mapping[str, KeyPath] = {
    "HELMDECK_DISABLE_PLUGINS": ("plugins", "disable"),
    "HELMDECK_PLUGIN_AUTOLOAD": ("plugins", "autoload"),
}
"""Variables with special names; every other key is ``HELMDECK_`` and the key, levels joined by two underscores."""

ENV_NOT_KEYS = frozenset({"HELMDECK_CONFIG", "HELMDECK_DATA_DIR"})
"""Variables that are not configuration keys."""


@attrs.frozen
class Layer:
    """One source of values: raw values by their current keys, the origin of each, and warnings for deprecated keys."""

    values: Mapping[str, Any]
    origin: Mapping[KeyPath, str]
    warnings: tuple[str, ...] = ()

    @classmethod
    def read(cls, values: Mapping[str, Any], origin: Mapping[KeyPath, str]) -> Layer:
        """Return the layer of a source that may use deprecated keys."""
        return cls(*replace_deprecated(values, origin))


@attrs.frozen
class LoadedConfig:
    """A usable configuration, and the origin of each value.

    :ivar origins: the file, variable or argument that set each key; keys with their default value are not included.
    :ivar mistakes: all mistakes; the wrong values are not part of ``config``.
    :ivar file: the file that was read.
    :ivar warnings: the use of deprecated keys.

    >>> from helmdeck_core import load_config
    >>> loaded = load_config(environ={"HELMDECK_MODEL": "acme/large"})
    >>> loaded.origins[("model",)]
    'environment HELMDECK_MODEL'
    """

    config: Config
    origins: Mapping[KeyPath, str]
    mistakes: tuple[Mistake, ...] = ()
    file: Path | None = None
    warnings: tuple[str, ...] = ()


def load_config(
    *,
    file: str | Path | None = None,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[KeyPath, tuple[Any, str]] | None = None,
) -> LoadedConfig:
    """Read all layers and merge them. Each deprecated key is a ``DeprecatedKeyWarning``.

    :param file: the file to read; else the variable ``HELMDECK_CONFIG``; else the nearest ``helmdeck.toml`` or
        ``pyproject.toml`` with a table ``[tool.helmdeck]``, from ``start`` upwards.
    :param environ: the environment variables; an empty mapping for none.
    :param arguments: key path to the value and the argument's name.

    >>> from helmdeck_core import load_config
    >>> loaded = load_config(environ={"HELMDECK_MODEL": "acme/large"})
    >>> loaded.config.model
    'acme/large'
    """
    environ = environ if environ is not None else {}
    mistakes: list[Mistake] = []
    if file is None and (named := environ.get("HELMDECK_CONFIG")):
        file = Path(named).expanduser()
    path, from_file = _file_layer(None if file is None else Path(file), start, mistakes)
    layers = [from_file, _env_layer(environ, mistakes), _argument_layer(arguments or {}, mistakes)]
    values: dict[str, Any] = {}
    origins: dict[KeyPath, str] = {}
    deprecated: list[str] = []
    for each in layers:
        deprecated += each.warnings
        if isinstance(model := each.values.get("model"), str) and not model.strip():
            each = _without(each, "model")  # an empty string means unset
        _merge(values, each.values)
        origins.update(each.origin)
    config = structured_config(values, origins, mistakes)
    if path is not None:
        config = _anchored(
            config, path.parent, lambda *key: key in origins and origins[key] == from_file.origin.get(key)
        )
    for text in deprecated:
        warnings.warn(text, DeprecatedKeyWarning, stacklevel=2)
    return LoadedConfig(
        config, {key: origins[key] for key in sorted(origins)}, tuple(mistakes), path, tuple(deprecated)
    )


def _anchored(config: Config, folder: Path, is_from_file: Callable[..., bool]) -> Config:
    """Resolve relative paths in a file against the folder of the file, not the working directory."""
    if is_from_file("catalog", "sources"):
        sources = (str(folder / name) if is_catalog_file(name) else name for name in config.catalog.sources)
        config = attrs.evolve(config, catalog=attrs.evolve(config.catalog, sources=tuple(sources)))

    if is_from_file("plugins", "files"):
        files = tuple(str(folder / Path(name).expanduser()) for name in config.plugins.files)
        config = attrs.evolve(config, plugins=attrs.evolve(config.plugins, files=files))

    def anchored(key: SecretRef | None, *path: str) -> Any:
        is_path = key is not None and key.kind == "file" and is_from_file("providers", *path)
        return attrs.evolve(key, target=str(folder / key.target)) if is_path and key else key

    providers = {
        name: attrs.evolve(
            provider,
            api_key=anchored(provider.api_key, name, "api_key"),
            api_keys=tuple(anchored(key, name, "api_keys") for key in provider.api_keys),
            routes=tuple(attrs.evolve(r, api_key=anchored(r.api_key, name, "routes")) for r in provider.routes),
        )
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
    return path, Layer.read(table, dict.fromkeys(_leaves(table), name))


def _nearest(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        own = folder / FILE_NAME
        if own.exists() or own.is_symlink():  # reading a folder or a link to nothing is a mistake with a message
            return own
        project = folder / "pyproject.toml"
        # Most projects have a pyproject.toml without our table: search before parsing.
        if project.is_file() and b"tool.helmdeck" in project.read_bytes() and _has_table(project):
            return project
    return None


def _has_table(project: Path) -> bool:
    """Whether the table exists; ``True`` for a file that cannot be read, so that the error is reported."""
    mistakes: list[Mistake] = []
    table = _read_toml(project, mistakes).get("tool")
    return bool(mistakes) or (isinstance(table, dict) and "helmdeck" in table)


def _read_toml(path: Path, mistakes: list[Mistake]) -> dict[str, Any]:
    try:
        return tomllib.loads(without_byte_order_mark(path.read_bytes()).decode())
    except OSError as exc:
        mistakes.append(Mistake(str(path), f"the file cannot be read ({exc.strerror or exc})"))
    except UnicodeDecodeError as exc:
        mistakes.append(Mistake(str(path), f"not valid TOML ({undecodable_byte(exc)})"))
    except tomllib.TOMLDecodeError as exc:
        mistakes.append(Mistake(str(path), f"not valid TOML ({exc})"))
    return {}


def _env_layer(environ: Mapping[str, str], mistakes: list[Mistake]) -> Layer:
    values: dict[str, Any] = {}
    origin: dict[KeyPath, str] = {}
    for variable in sorted(environ):
        if not variable.startswith(ENV_PREFIX) or variable in ENV_NOT_KEYS:
            continue
        path = ENV_SHORT.get(variable) or tuple(variable[len(ENV_PREFIX) :].lower().split("__"))
        kind = key_type(path)
        if kind is None:
            names = [f"{ENV_PREFIX}{name.upper()}" for name in attrs.fields_dict(Config)]
            problem, allowed = f"unknown key{did_you_mean(variable, names)}", f"{', '.join(names)} (__ between levels)"
            mistakes.append(Mistake(f"environment {variable}", problem, "", allowed))
            continue
        if not environ[variable].strip() and typing.get_origin(without_none(kind)) is not tuple:
            continue  # some systems cannot unset a variable; only a list may be empty
        _put(values, path, _env_value(environ[variable], kind), f"environment {variable}", mistakes)
        origin[path] = f"environment {variable}"
    return Layer.read(values, origin)


def _env_value(text: str, kind: Any) -> Any:
    """Read a variable as the type of its key; any other value stays a string and is reported as a mistake."""
    if typing.get_origin(without_none(kind)) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    if without_none(kind) is bool and text.strip() in ("0", "1"):
        return text.strip() == "1"
    if without_none(kind) in (bool, int, float):
        try:
            return tomllib.loads(f"value = {text.strip().lower()}")["value"]
        except tomllib.TOMLDecodeError:
            return text
    return text


def _argument_layer(arguments: Mapping[KeyPath, tuple[Any, str]], mistakes: list[Mistake]) -> Layer:
    values: dict[str, Any] = {}
    for path, (value, name) in arguments.items():
        _put(values, path, value, f"argument {name}", mistakes)
    return Layer.read(values, {path: f"argument {name}" for path, (_, name) in arguments.items()})


def _put(values: dict[str, Any], path: KeyPath, value: Any, where: str, mistakes: list[Mistake]) -> None:
    for number, key in enumerate(path[:-1], 1):
        values = values.setdefault(key, {})
        if not isinstance(values, dict):
            problem = f"{dotted(path[:number])} is set as a value and as a table"
            mistakes.append(Mistake(where, problem, shown(values, path[:number]), "one of the two"))
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
            into[key] = copied(value)


def _leaves(table: Mapping[str, Any], above: KeyPath = ()) -> Iterator[KeyPath]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:  # an empty table has an origin of its own, for messages about its name
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key)
