"""``helmdeck config``: what is set and by whom, every mistake at once, a file to start from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from helmdeck_core.config.load import KeyPath, LoadedConfig
    from helmdeck_core.errors import Mistake
    from helmdeck_core.resolve.runtime import Runtime

# -- show --------------------------------------------------------------------------------------------------


def configure_nothing(parser: argparse.ArgumentParser) -> None:
    """The global options are all there is."""


def show(arguments: argparse.Namespace) -> int:
    """List every key with its value and where it came from."""
    from helmdeck_core.cli.tables import table
    from helmdeck_core.config.load import dotted
    from helmdeck_core.errors import ConfigError

    loaded = options.load(arguments)
    rows = [(dotted(path), value, _origin(loaded, path)) for path, value in settings(loaded.config)]
    if arguments.json:
        import attrs

        listed = [{"key": key, "value": value, "source": source} for key, value, source in rows]
        file = str(loaded.file) if loaded.file else None
        printing.show_json({"file": file, "settings": listed, "mistakes": [attrs.asdict(m) for m in loaded.mistakes]})
        return exits.USAGE if loaded.mistakes else exits.OK
    printing.show(f"file: {loaded.file or 'none found; `helmdeck config sample > helmdeck.toml` writes one'}")
    printing.show()
    printing.show(table([(key, _shown(value), source) for key, value, source in rows], ("key", "value", "from")))
    if loaded.mistakes:
        printing.show()
        raise ConfigError(loaded.mistakes)
    return exits.OK


def settings(config: Any) -> Iterator[tuple[KeyPath, Any]]:
    """Every key and its value as plain data; secrets as their references, and what may hold one not at all."""
    yield from _walk(config, ())


def _walk(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    import attrs

    from helmdeck_core.config.types import SecretRef

    if attrs.has(type(value)) and not isinstance(value, SecretRef):
        inside_table = len(path) > 1  # of a provider, a budget, a tier: only what is set says something
        for field in attrs.fields(type(value)):
            each = getattr(value, field.name)
            if not (inside_table and (each is None or (isinstance(each, Mapping) and not each))):
                yield from _walk(each, (*path, field.name))
    elif isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _walk(each, (*path, str(key)))
    elif isinstance(value, Mapping):
        yield path, {}
    else:
        yield path, _harmless(value, path)


def _harmless(value: Any, path: KeyPath) -> Any:
    from helmdeck_core.config.types import SecretRef, is_hidden
    from helmdeck_core.redaction import NOT_SHOWN, shown_url

    if is_hidden(path) and value is not None and not isinstance(value, SecretRef):
        return NOT_SHOWN
    if isinstance(value, tuple):
        return [_harmless(each, path) for each in value]
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    is_address = path[-1] in ("base_url", "url") or "://" in str(value)
    return shown_url(str(value)) if is_address else str(value)


def _origin(loaded: LoadedConfig, path: KeyPath) -> str:
    for key, origin in loaded.origins.items():
        # A tier may be written in either letter case.
        if key == path or (
            path[0] in ("compaction", "selection") and [k.upper() for k in key] == [k.upper() for k in path]
        ):
            return origin
    return next((origin for key, origin in loaded.origins.items() if path[: len(key)] == key), "default")


def _shown(value: Any) -> str:
    if value is None:
        return "(not set)"
    if value == {}:
        return "(none)"
    return value if isinstance(value, str) else printing.inline_json(value)


# -- check -------------------------------------------------------------------------------------------------


def check(arguments: argparse.Namespace) -> int:
    """Read the configuration, load the plugins and the catalog, and report every mistake.

    :raises ConfigError: with all of them.
    """
    from helmdeck_core.errors import ConfigError

    loaded = options.load(arguments)
    mistakes, runtime = find_mistakes(loaded)
    if mistakes or runtime is None:
        raise ConfigError(tuple(mistakes))
    count = len(_catalog(runtime)[1])
    plugins = sum(not info.is_blocked for info in runtime.plugins.infos)
    warnings = list(_warnings(runtime))
    if arguments.json:
        file = str(loaded.file) if loaded.file else None
        facts = {"ok": True, "file": file, "plugins": plugins, "catalog_entries": count, "model": loaded.config.model}
        printing.show_json({**facts, "warnings": warnings})
        return exits.OK
    where = loaded.file or "no file, defaults only"
    printing.show(f"ok: {where}; {plugins} plugins, {count} catalog entries, model {loaded.config.model}")
    for warning in warnings:
        printing.note(f"warning: {warning}")
    return exits.OK


def find_mistakes(loaded: LoadedConfig) -> tuple[list[Mistake], Runtime | None]:
    """Everything that is wrong; and the runtime, where nothing is.

    :raises PluginError: a plugin cannot be loaded, so that what it would know cannot be checked.
    """
    from helmdeck_core.deck.helmdeck import make_runtime
    from helmdeck_core.errors import ConfigError

    try:
        runtime = make_runtime(loaded)
    except ConfigError as exc:
        return list(exc.mistakes), None
    mistakes = _catalog(runtime)[0] + _model(runtime) + _providers(runtime)
    return mistakes, None if mistakes else runtime


def _catalog(runtime: Runtime) -> tuple[list[Mistake], tuple[Any, ...]]:
    import attrs

    from helmdeck_core.context.catalog_sources import load_catalog
    from helmdeck_core.errors import CatalogError

    try:
        return [], load_catalog(runtime).entries
    except CatalogError as exc:
        named = [attrs.evolve(mistake, where=f"catalog {exc.source}: {mistake.where}") for mistake in exc.mistakes]
        return named, ()


def _model(runtime: Runtime) -> list[Mistake]:
    from helmdeck_core.errors import Mistake

    name = runtime.config.model.partition("/")[0].strip()
    known = sorted({*runtime.providers, *runtime.config.providers})
    if name in known:
        return []
    import difflib

    origin = runtime.origins.get(("model",))
    where = f"{origin}: model" if origin else "model"
    close = difflib.get_close_matches(name, known, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return [
        Mistake(
            where,
            f"there is no provider {name!r}{meant}",
            repr(runtime.config.model),
            f"a model of {', '.join(known) or 'no provider'}",
        )
    ]


def _providers(runtime: Runtime) -> list[Mistake]:
    """What providers themselves say about their tables; none of them is asked anything."""
    import asyncio

    from helmdeck_core.calls.provider_pool import ProviderPool
    from helmdeck_core.errors import CallFailed, ConfigError, Mistake

    found: list[Mistake] = []

    async def look(name: str) -> None:
        left = runtime
        while True:
            gateway = ProviderPool(left)
            try:
                gateway.open_provider(name)
            except ConfigError as exc:
                found.extend(_placed(runtime, name, mistake) for mistake in exc.mistakes)
                return
            except CallFailed as exc:
                where, refused, _ = exc.headline.partition(" cannot be used")
                if not refused and left is not runtime:
                    return  # it misses what was wrong and is gone
                where = where if refused else f"providers.{name}"
                found.append(_placed(runtime, name, Mistake(where, exc.detail or exc.headline)))
                # It names one at a time: the next one shows when this one is gone.
                without = _without(left, name, where.removeprefix(f"providers.{name}."))
                if without is None:
                    return
                left = without
            else:
                return
            finally:
                await gateway.aclose()

    for name in runtime.config.providers:
        asyncio.run(look(name))
    return found


def _placed(runtime: Runtime, name: str, mistake: Mistake) -> Mistake:
    import attrs

    origin = next((text for key, text in runtime.origins.items() if key[:2] == ("providers", name)), "")
    return attrs.evolve(mistake, where=f"{origin}: {mistake.where}") if origin else mistake


def _without(runtime: Runtime, name: str, key: str) -> Runtime | None:
    """The deployment without one setting of a provider, or with a harmless one; ``None`` where that is how it is already."""
    import attrs

    before = runtime.config.providers[name]
    if key == "base_url":
        after = attrs.evolve(before, base_url="http://127.0.0.1")
    elif key == "headers":
        after = attrs.evolve(before, headers={})
    else:
        option = key.removeprefix("options.").partition("[")[0]
        after = attrs.evolve(before, options={k: v for k, v in before.options.items() if k != option})
    if after == before:
        return None
    return attrs.evolve(
        runtime, config=attrs.evolve(runtime.config, providers={**runtime.config.providers, name: after})
    )


def _warnings(runtime: Runtime) -> Iterator[str]:
    for name, provider in runtime.config.providers.items():
        reference = provider.api_key
        if reference is None:
            continue
        try:
            is_there = reference.read() is not None
        except (OSError, UnicodeDecodeError):
            is_there = False
        if not is_there:
            what = "the variable is not set" if reference.kind == "env" else "the file cannot be read or is empty"
            yield f"providers.{name}.api_key: {reference}: {what}"


# -- sample ------------------------------------------------------------------------------------------------

SAMPLE = """\
# helmdeck.toml: looked for in the current folder and above, or named by --config or HELMDECK_CONFIG.
# Every key can be left out. `helmdeck config check` finds mistakes, `helmdeck config show` tells what counts.

model = "local/lexical"              # who is asked when a call names nobody; this one needs no network
# log_level = "INFO"

[catalog]
sources = ["example", "packs"]       # names, or paths that end in .json or .toml; later ones override by id

[plugins]
# disable = ["example-plugin"]       # `helmdeck plugins list` has the names
# first = ["example-plugin"]         # answers before the others

# -- providers: PROVIDER/MODEL is what --model and budgets say -----------------------------------------

[providers.openrouter]
api_key = "env:OPENROUTER_API_KEY"   # or file:PATH; the key itself never stands here
timeout_s = 90

[providers.workshop]                 # a server of your own that speaks the same language
kind = "vllm"
base_url = "http://localhost:8000/v1"

[http]
# transport = "aiohttp"              # for many calls at once; needs helmdeck[aiohttp]; per provider, too

# -- budgets: what a model is asked to take; start of a model id, longest wins -------------------------

[budgets."workshop/"]
tier = "B"                           # A reliable, B up to about 25 KB of catalog, C a small catalog only
input_tokens = 32_000
output_tokens = 2_000
max_catalog_bytes = 18_000           # 0 is no limit
evidence = "18 of 20 plans were clean at 18 KB, measured here"

# -- how a catalog is made smaller, and who ranks it ----------------------------------------------------

[compaction.tiers.C]
drop = []                            # trim steps that do not run; `helmdeck catalog compact` shows them

[selection]
confidence = 0.4                     # below this a ranking counts as unsure
max_entries = { B = 25, C = 12 }     # once entries have to go
"""
"""A page that can be used as it is; a test loads it."""


def sample(arguments: argparse.Namespace) -> int:
    """Print the sample; as JSON it is the same text."""
    if arguments.json:
        printing.show_json({"helmdeck.toml": SAMPLE})
    else:
        printing.show(SAMPLE.rstrip())
    return exits.OK


ACTIONS: options.Actions = {
    "show": (configure_nothing, show),
    "check": (configure_nothing, check),
    "sample": (configure_nothing, sample),
}
