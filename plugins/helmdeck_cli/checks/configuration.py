"""Checks a configuration against the plugins, the catalog and the providers. No model is called."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import attrs

from helmdeck_cli.checks.effective_settings import missing_secrets
from helmdeck_core import (
    CallFailed,
    CatalogError,
    Command,
    ConfigError,
    InvalidRequest,
    LiveCatalog,
    LoadedConfig,
    Mistake,
    PluginError,
    ProviderPool,
    Runtime,
    load_catalog,
    load_plugins,
    resolve_runtime,
)


@attrs.frozen(kw_only=True)
class ConfigReport:
    """The result of ``check_config``.

    :ivar mistakes: everything that is wrong; empty for a valid configuration.
    :ivar warnings: problems that do not prevent a start, such as an API key that is not set.
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
    """
    wanted = loaded.config.plugins
    errors: list[PluginError] = []
    plugins = load_plugins(disable=wanted.disable, first=wanted.first, autoload=wanted.autoload, errors=errors)
    mistakes: list[Mistake] = []
    catalog_entries = 0
    notices: tuple[str, ...] = ()
    try:
        runtime = resolve_runtime(plugins, loaded, errors=errors)
        registry = ProviderPool(runtime).registry
        notices = tuple(notice for name in loaded.config.providers for notice in registry.notices(name))
        catalog_entries, catalog_mistakes = _check_catalog(runtime)
        mistakes += [*catalog_mistakes, *_check_model(runtime), *_check_providers(runtime)]
        checks = [command.value.check for command in runtime.contributed(Command).values()]
        mistakes += [mistake for check in checks if check is not None for mistake in check(runtime)]
        sources = LiveCatalog(runtime, registry.first_settings).open_sources().values()
        notices += tuple(notice for source in sources for notice in getattr(source, "notices", tuple)())
    except ConfigError as exc:
        mistakes += exc.mistakes
    except PluginError as exc:
        errors.append(exc)
    return ConfigReport(
        mistakes=(*(Mistake("plugins", str(error)) for error in errors), *mistakes),
        warnings=(*missing_secrets(loaded.config), *notices),
        plugins=sum(info.is_loaded for info in plugins.infos),
        catalog_entries=catalog_entries,
        plugin_errors=tuple(errors),
    )


def _check_catalog(runtime: Runtime) -> tuple[int, list[Mistake]]:
    try:
        return len(load_catalog(runtime).entries), []
    except CatalogError as exc:
        return 0, [attrs.evolve(each, where=f"catalog {exc.source}: {each.where}") for each in exc.mistakes]


def _check_model(runtime: Runtime) -> list[Mistake]:
    registry, model = ProviderPool(runtime).registry, runtime.config.model
    try:
        registry.check(registry.full_id(model))
    except InvalidRequest as exc:
        origin = runtime.origins.get(("model",))
        allowed = f"a model of {', '.join(registry.names) or 'no provider'}"
        return [Mistake(f"{origin}: model" if origin else "model", exc.headline, repr(model), allowed)]
    return []


def _check_providers(runtime: Runtime) -> list[Mistake]:
    """Open every configured provider, which checks its own settings, and close it again."""
    mistakes: list[Mistake] = []
    for name in runtime.config.providers:
        mistakes += asyncio.run(_check_provider(runtime, name))
    return mistakes


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
    providers = {**runtime.config.providers, provider: after}
    return attrs.evolve(runtime, config=attrs.evolve(runtime.config, providers=providers))
