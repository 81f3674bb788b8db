"""Checks the arguments of a deck's methods: one of the wrong type is a ``TypeError`` that names it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helmdeck_core.config.load import LoadedConfig, load_config
from helmdeck_core.config.structure import KeyPath
from helmdeck_core.config.types import Config
from helmdeck_core.domain.plans import PlanRequest
from helmdeck_core.domain.tasks import CompletedStep
from helmdeck_core.encoding import undecodable_text


def check_type(name: str, value: object, *types: type) -> None:
    """Check the type of an argument.

    :raises TypeError: it has none of the types.
    """
    if not isinstance(value, types):
        kinds = " or ".join(kind.__name__ for kind in types)
        raise TypeError(f"{name} must be of the type {kinds}, found {type(value).__name__}")


def load_arguments(
    config: Config | LoadedConfig | None,
    *,
    file: str | Path | None,
    environ: Mapping[str, str] | None,
    overrides: Mapping[KeyPath, Any] | Mapping[str, Any] | None,
    **values: Any,
) -> LoadedConfig:
    """Return the configuration of a deck.

    :param values: ``model``, ``catalog_sources`` and ``autoload``; ``None`` leaves a value to the other sources.
    :raises ConfigError: with every mistake of the configuration.
    """
    arguments = dict(_overrides(overrides or {}))
    if (model := values["model"]) is not None:
        arguments["model",] = (model, "model")
    if (sources := values["catalog_sources"]) is not None:
        check_type("catalog_sources", sources, str, Path, Iterable)
        sources = [sources] if isinstance(sources, str | Path) else sources
        names = [str(each) if isinstance(each, Path) else each for each in sources]
        arguments["catalog", "sources"] = (names, "catalog_sources")
    if (autoload := values["autoload"]) is not None:
        arguments["plugins", "autoload"] = (autoload, "autoload")
    if config is None:
        check_type("file", file or "", str, Path)
        check_type("environ", environ or {}, Mapping)
        for variable, text in (environ or {}).items():
            check_type(f"environ[{variable!r}]", text, str)
        return load_config(file=file, environ=os.environ if environ is None else environ, arguments=arguments)
    if arguments or file is not None or environ is not None:
        raise TypeError("config is complete: it cannot be combined with other configuration arguments")
    if not isinstance(config, Config | LoadedConfig):
        raise TypeError(
            f"config is a {type(config).__name__}; pass a Config, file= for a configuration file, or overrides= for single keys"
        )
    return config if isinstance(config, LoadedConfig) else LoadedConfig(config, {})


def check_request(request: object) -> None:
    """Check the text of a request.

    :raises TypeError: it is not a string.
    :raises ValueError: it is undecodable input.
    """
    check_type("the request", request, str)
    if problem := undecodable_text(request, "the request"):
        raise ValueError(problem)


def _overrides(overrides: Mapping[Any, Any]) -> Iterable[tuple[KeyPath, tuple[Any, str]]]:
    check_type("overrides", overrides, Mapping)
    for key, value in overrides.items():
        check_type("a key of overrides", key, str, tuple)
        keys = tuple(key.split(".")) if isinstance(key, str) else key
        yield keys, (value, ".".join(keys))


def plan_request(
    intent: str, context: str, done: Iterable[CompletedStep], defaults: Mapping[str, Any] | None
) -> PlanRequest:
    """Return the input of a plan; the planning pack checks the values in it."""
    if isinstance(done, (str, CompletedStep)) or not isinstance(done, Iterable):
        raise TypeError(f'done must be a list of steps, such as [CompletedStep("web.search")], found {done!r}')
    check_type("defaults", {} if defaults is None else defaults, Mapping)
    return PlanRequest(intent, context=context, done=tuple(done), defaults=dict(defaults or {}))
