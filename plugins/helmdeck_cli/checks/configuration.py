"""Checks a configuration against the plugins, the catalog and the providers. No model is called."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_cli.checks.effective_settings import missing_secrets
from helmdeck_cli.checks.findings import State
from helmdeck_cli.checks.stores import check_stores
from helmdeck_cli.checks.usable_config import resolve_usable
from helmdeck_core import (
    CallFailed,
    Catalog,
    CatalogError,
    Command,
    ConfigError,
    EventSink,
    HelmdeckError,
    InvalidRequest,
    LiveCatalog,
    LoadedConfig,
    Mistake,
    ModelId,
    PluginError,
    ProviderPool,
    Ranker,
    Runtime,
    load_catalog,
    load_plugins,
    nearest_names,
)


@attrs.frozen(kw_only=True)
class ConfigReport:
    """The result of ``check_config``.

    :ivar mistakes: everything that is wrong; empty for a valid configuration.
    :ivar warnings: problems that do not prevent a start, such as a deprecated key, or an API key that is not set.
    :ivar plugins: the number of loaded plugins.
    :ivar catalog_entries: the number of catalog entries.
    :ivar plugin_errors: the errors of plugins that cannot be loaded or fail; ``mistakes`` contains their messages.
    """

    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[str, ...] = ()
    plugins: int = 0
    catalog_entries: int = 0
    plugin_errors: tuple[PluginError, ...] = ()


def check_config(loaded: LoadedConfig) -> ConfigReport:
    """Find every mistake of a configuration: of its files, plugins, catalog, model and providers.

    A plugin that cannot be loaded or fails is a mistake among the others, which are found without it.

    >>> from helmdeck_cli import check_config
    >>> from helmdeck_core import load_config
    >>> report = check_config(load_config(environ={"HELMDECK_MODEL": "acme/large"}))
    >>> [mistake.where for mistake in report.mistakes]
    ['environment HELMDECK_MODEL: model']
    """
    wanted = loaded.config.plugins
    errors: list[PluginError] = []
    plugins = load_plugins(
        files=wanted.files,
        disable=wanted.disable,
        first=wanted.first,
        autoload=wanted.autoload,
        errors=errors,
        required=wanted.required,
        limit_s=wanted.load_timeout_s,
    )
    mistakes: list[Mistake] = []
    catalog_entries = 0
    notices: tuple[str, ...] = ()
    try:
        # What has mistakes is left out, so that those of the other parts are found too.
        runtime, mistakes = resolve_usable(plugins, loaded, errors)
        if runtime is not None:
            registry = ProviderPool(runtime).registry
            notices = tuple(notice for name in runtime.config.providers for notice in registry.notices(name))
            catalog_entries, catalog_mistakes = _check_catalog(runtime)
            if not _concerns_provider(mistakes, ModelId.provider_of(runtime.config.model)):
                mistakes += _check_model(runtime)
            mistakes += [*catalog_mistakes, *provider_mistakes(runtime)]
            checks = [command.value.check for command in runtime.contributed(Command).values()]
            own = [mistake for check in checks if check is not None for mistake in check(runtime)]
            own = [*_check_rankers(runtime), *_check_stores(runtime), *own]
            mistakes += [with_source(runtime.origins, mistake) for mistake in own]
            sources = LiveCatalog(runtime, registry.first_settings).open_sources().values()
            notices += tuple(notice for source in sources for notice in getattr(source, "notices", tuple)())
    except ConfigError as exc:
        mistakes += exc.mistakes
    except PluginError as exc:
        errors.append(exc)
    return ConfigReport(
        mistakes=(*(Mistake("plugins", str(error)) for error in errors), *mistakes),
        warnings=(*loaded.warnings, *missing_secrets(loaded.config), *notices),
        plugins=sum(info.is_loaded for info in plugins.infos),
        catalog_entries=catalog_entries,
        plugin_errors=tuple(errors),
    )


def with_source(origins: Mapping[tuple[str, ...], str], mistake: Mistake) -> Mistake:
    """Return a mistake with the file or variable that sets its key, unless it names it already.

    :param origins: those of the configuration.

    >>> from helmdeck_cli import with_source
    >>> from helmdeck_core import Mistake
    >>> str(with_source({("gateway", "port"): "helmdeck.toml"}, Mistake("gateway.port", "too high")))
    'helmdeck.toml: gateway.port: too high'
    """
    keys = mistake.where.partition(": ")[0].split(".")
    for size in range(len(keys), 0, -1):
        for key, source in origins.items():
            if key[:size] == tuple(keys[:size]):
                return attrs.evolve(mistake, where=f"{source}: {mistake.where}")
    return mistake


def _check_catalog(runtime: Runtime) -> tuple[int, list[Mistake]]:
    errors: list[CatalogError] = []
    catalog = load_catalog(runtime, errors)
    return len(catalog.entries), [
        each if each.where == error.source else attrs.evolve(each, where=f"catalog {error.source}: {each.where}")
        for error in errors
        for each in error.mistakes
    ]


def _check_rankers(runtime: Runtime) -> Iterator[Mistake]:
    """The options that a ranker rejects, such as a file of words that does not exist."""
    config = runtime.config.selection
    rankers = [("selection", config.rankers)]
    rankers += [(f"selection.tiers.{tier.value}", each.rankers) for tier, each in config.tiers.items()]
    for where, by_name in rankers:
        for name, options in by_name.items():
            ranker = runtime.contributed(Ranker)[name].value
            if ranker.over or ranker.is_blocking:
                continue  # it loads a model, or calls a server
            try:
                ranker.index(Catalog(), **{**ranker.options, **options})
            except ConfigError as exc:
                for mistake in exc.mistakes:
                    yield attrs.evolve(mistake, where=f"{where}.rankers.{name}: {mistake.where}")
            except (HelmdeckError, ValueError, OSError) as exc:
                yield Mistake(f"{where}.rankers.{name}", str(exc))


def _check_stores(runtime: Runtime) -> Iterator[Mistake]:
    """The files of stores that cannot be created or written."""
    sinks = {name: owned.value for name, owned in runtime.contributed(EventSink).items()}
    keys = {"history": "history.url", "traces": "events.options.traces.file"}
    for finding in check_stores(runtime.config, sinks):
        if finding.state is State.FAIL:
            yield Mistake(keys.get(finding.subject, finding.subject), finding.text, "", finding.remedy)


def _concerns_provider(mistakes: Sequence[Mistake], provider: str) -> bool:
    """Whether the table of a provider has a mistake: it is left out then, so that its models seem to have no provider."""
    keys = (mistake.where.rpartition(": ")[2].split(".") for mistake in mistakes)
    return any(key[:2] == ["providers", provider] for key in keys)


def _check_model(runtime: Runtime) -> list[Mistake]:
    registry, model = ProviderPool(runtime).registry, runtime.config.model
    try:
        registry.check(registry.full_id(model))
    except InvalidRequest as exc:
        origin = runtime.origins.get(("model",))
        provider, known = ModelId.provider_of(model), dict.fromkeys((*runtime.config.providers, *registry.names))
        allowed = f"a model of {nearest_names(provider, known) or 'no provider'}"
        return [Mistake(f"{origin}: model" if origin else "model", exc.headline, repr(model), allowed)]
    return []


def provider_mistakes(runtime: Runtime) -> list[Mistake]:
    """Open every configured provider, which checks its own settings, and close it again. No connection is opened.

    Not for a thread with a running event loop.

    >>> from helmdeck_cli import provider_mistakes
    >>> from helmdeck_core import load_config, load_plugins, resolve_runtime
    >>> provider_mistakes(resolve_runtime(load_plugins(autoload=False), load_config(environ={})))
    []
    """
    mistakes: list[Mistake] = []
    for name, provider in runtime.config.providers.items():
        for index, route in enumerate(provider.by_route):
            single = attrs.evolve(route, routes=(), api_keys=(), routing=None)
            found = asyncio.run(_check_provider(_with_provider(runtime, name, single), name))
            if provider.routes:
                found = [_with_route(each, name, index, provider.routes[index]) for each in found]
            mistakes += [each for each in found if each not in mistakes]
    return mistakes


def _with_route(mistake: Mistake, provider: str, index: int, route: Any) -> Mistake:
    """The mistake with the key of the route, if the route sets it."""
    where, dot, key = mistake.where.rpartition(".")
    if where.endswith(f"providers.{provider}") and getattr(route, key, None):
        return attrs.evolve(mistake, where=f"{where}.routes.{index}{dot}{key}")
    return mistake


def _with_provider(runtime: Runtime, name: str, provider: Any) -> Runtime:
    providers = {**runtime.config.providers, name: provider}
    return attrs.evolve(runtime, config=attrs.evolve(runtime.config, providers=providers))


async def _check_provider(runtime: Runtime, name: str) -> list[Mistake]:
    """Open a provider until it has no invalid setting; it reports some of them only after others are removed."""
    mistakes: list[Mistake] = []
    remaining: Runtime | None = runtime
    while remaining is not None:
        pool = ProviderPool(remaining)
        try:
            pool.open_provider(name)
            break
        except ConfigError as exc:
            mistakes += exc.mistakes
            break
        except CallFailed as exc:
            if not exc.mistakes and mistakes:
                break  # it fails only because the invalid settings are gone
            mistakes += exc.mistakes or [Mistake(f"providers.{name}", exc.detail or exc.headline)]
            remaining = _without_settings(remaining, name, exc.mistakes)
        finally:
            await pool.aclose()
    return [_with_origin(runtime, name, mistake) for mistake in mistakes]


def _with_origin(runtime: Runtime, provider: str, mistake: Mistake) -> Mistake:
    origin = next((text for key, text in runtime.origins.items() if key[:2] == ("providers", provider)), "")
    return attrs.evolve(mistake, where=f"{origin}: {mistake.where}") if origin else mistake


def _without_settings(runtime: Runtime, provider: str, mistakes: Sequence[Mistake]) -> Runtime | None:
    """The runtime with harmless values for the invalid settings of a provider; ``None`` if that changes nothing."""
    before = after = runtime.config.providers[provider]
    for mistake in mistakes:
        key = mistake.where.removeprefix(f"providers.{provider}.")
        if key == "base_url":
            after = attrs.evolve(after, base_url="http://127.0.0.1")
        elif key == "headers":
            after = attrs.evolve(after, headers={})
        else:
            option = key.removeprefix("options.").partition(".")[0]
            after = attrs.evolve(after, options={name: each for name, each in after.options.items() if name != option})
    if after == before:
        return None
    return _with_provider(runtime, provider, after)
