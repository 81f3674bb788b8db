"""The reference pages, generated from docstrings, tables and the contributions of the built-in plugins."""

from __future__ import annotations

import argparse
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import mcp_page
import metrics_page
import packages_page
import public_names_pages
import testing_page
from continuation_page import continuation
from parts import documented, page, table, ticked
from public_names_pages import descriptions_of_names, entry, public_names


def type_name(annotation: Any) -> str:
    """Return the name of a type for the configuration reference."""
    arguments = typing.get_args(annotation)
    if annotation is type(None):
        return "None"
    if type(None) in arguments:
        return type_name(next(each for each in arguments if each is not type(None)))
    if typing.get_origin(annotation) is tuple:
        return f"list of {_plural(type_name(arguments[0]))}"
    if annotation is Any:
        return "any value"
    if isinstance(annotation, type) and not arguments:
        return {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}.get(
            annotation.__name__, annotation.__name__
        )
    if len(arguments) == 2:
        return f"table of {_plural(type_name(arguments[1]))}"
    return str(annotation)


def _plural(name: str) -> str:
    return re.sub(r"^(list|table)(?= of )|$", lambda match: f"{match[0]}s", name, count=1)


# -- configuration ---------------------------------------------------------------------------------------------

KEY_DESCRIPTIONS: Mapping[str, str] = {
    "providers.NAME.base_url": "URL of the server; default: the URL of the preset",
    "providers.NAME.api_key": "a reference to the key, `env:NAME` or `file:PATH`; never the key itself",
    "providers.NAME.headers": "headers of every request; their values are redacted",
    "providers.NAME.options": "options of the provider, such as those under [built-ins](built-ins.md#providers)",
    "providers": "providers by name, the first part of their model ids",
    "budgets.NAME.tier": "`A` reliable under load, `B` to about 25 KB of catalog, `C` a small catalog only",
    "catalog.sources": "names of catalog sources, or paths of JSON or TOML files; later ones override entries with the same id",
    "compaction.order": "the trim steps to run, in order; default: all, in their own order",
    "compaction.drop": "trim steps to skip",
    "compaction.tiers": "the same two keys for one tier: `A`, `B` or `C`",
    "compaction.models": "the same two keys for a model id prefix; the longest prefix wins",
}
"""Descriptions of keys that their classes do not document."""


def configuration() -> str:
    """Return the configuration page."""
    from helmdeck_core.config.load import ENV_SHORT
    from helmdeck_core.config.types import Config

    tables: dict[str, list[Sequence[str]]] = {}
    for key, kind, default, doc in keys(Config):
        name = "" if "[]" in key or "list of tables" in kind else f"`{variable(key)}`"  # tables in lists have none
        tables.setdefault(key.rpartition(".")[0], []).append((f"`{key}`", kind, default, doc, name))
    short = [f"`{name}` is short for `{variable('.'.join(path))}`" for name, path in ENV_SHORT.items()]
    parts = [
        (
            "Every key is optional. Command-line flags override environment variables, and environment variables override the "
            "file. `helmdeck config show` lists the effective settings and their sources; see "
            "[Configure a deployment](../how-to/configure.md)."
        ),
        (
            "The file is `--config`, else `HELMDECK_CONFIG`, else the nearest `helmdeck.toml` or `pyproject.toml` with a table "
            "`[tool.helmdeck]` in the current directory or its parents."
        ),
        (
            "In the name of an environment variable, two underscores separate levels. Lists are separated by commas; booleans are "
            f"`true`, `false`, `1` or `0`. {'; '.join(short)}."
        ),
    ]
    for prefix, rows in tables.items():
        heading = f"[[{prefix[:-2]}]]" if prefix.endswith("[]") else f"[{prefix}]" if prefix else "Top level"
        parts += [f"## {heading}", table(("key", "type", "default", "description", "environment variable"), rows)]
    return page("Configuration", *parts)


def keys(cls: Any, above: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield key, type, default and description of every key, tables with free names as ``NAME``."""
    from helmdeck_core.domain.models import Budget
    from helmdeck_core.domain.providers import ProviderSettings

    hints = typing.get_type_hints(cls)
    _, texts = documented(cls)
    defaults = cls()
    inner: list[tuple[Any, str]] = []
    for field in attrs.fields(cls):
        key = f"{above}.{field.name}" if above else field.name
        kind = hints[field.name]
        arguments = typing.get_args(kind)
        if attrs.has(kind) and kind.__name__ != "SecretRef":
            inner.append((kind, key))
            continue
        value = arguments[1] if len(arguments) == 2 and typing.get_origin(kind) is not tuple else None
        if value is not None and attrs.has(value):
            inner.append((value, f"{key}.{'TIER' if 'Tier' in str(arguments[0]) else 'NAME'}"))
        if typing.get_origin(kind) is tuple and attrs.has(arguments[0]) and arguments[0].__name__ != "SecretRef":
            inner.append((arguments[0], f"{key}[]"))
        doc = texts.get(field.name) or KEY_DESCRIPTIONS.get(key, "")
        if not doc and cls.__name__ in ("BudgetConfig", "ProviderConfig"):
            # The class that receives the value documents it.
            doc = documented(Budget if cls.__name__ == "BudgetConfig" else ProviderSettings)[1][field.name]
        yield key, _kind(kind), _default(getattr(defaults, field.name)), (doc or _description(key)).rstrip(".")
    for kind, key in inner:
        yield from keys(kind, key)


def _description(key: str) -> str:
    if key not in KEY_DESCRIPTIONS:
        raise LookupError(f"{key} is not documented: add `:ivar {key.rpartition('.')[2]}:` to its class")
    return KEY_DESCRIPTIONS[key]


def _kind(kind: Any) -> str:
    name = type_name(kind).replace("SecretRef", "string")
    if "RouteConfig" in name:
        return "list of tables"
    is_nested = "Config" in name or name.startswith("table of tables ") or name.endswith("Rules")
    return "table of tables" if is_nested else {"Tier": "`A`, `B` or `C`"}.get(name, name)


def _default(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        items = ", ".join(f"{key} = {each}" for key, each in value.items())
        return f"`{{ {items} }}`" if items else ""
    if isinstance(value, tuple):
        return f"`[{', '.join(_quoted(each) for each in value)}]`"
    return f"`{_quoted(value)}`"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def variable(key: str) -> str:
    """Return the environment variable of a key."""
    return "HELMDECK_" + key.replace(".", "__").upper()


# -- budgets ---------------------------------------------------------------------------------------------------


def budgets() -> str:
    """Return the page of the budget table."""
    from helmdeck_cli.commands.budgets import FLAGS, budget_data, describe_policy
    from helmdeck_core.domain.models import Budget
    from helmdeck_testing import make_deck

    # List prices change with the version of the package that has them.
    with make_deck(config={"plugins": {"disable": ["prices"]}}) as deck:
        rows = []
        for found in deck.budgets():
            budget = found.budget
            cap = "none" if budget.max_catalog_bytes is None else f"{budget.max_catalog_bytes:,}"
            price = budget.cached_input_cost_usd_per_mtok
            rows.append(
                (
                    f"`{budget.model}`" if budget.model else "*fallback*",
                    budget.tier.value,
                    f"{budget.input_tokens:,}",
                    f"{budget.output_tokens:,}",
                    cap,
                    " ".join(word for word, name in FLAGS if getattr(budget, name)),
                    budget_data(found)["prompt_variant"],
                    "" if price is None else f"{price:g}",
                    budget.evidence,
                )
            )
        policy = describe_policy(deck.budget(""))
    headings = ("model id prefix", "tier", "in", "out", "catalog", "flags", "variant", "cached $", "evidence")
    fields = [(f"`{name}`", text) for name, text in documented(Budget)[1].items()]
    flags = ", ".join(f"*{word}* is `{name}`" for word, name in FLAGS)
    return page(
        "Budgets",
        "The built-in budgets. `helmdeck budgets` shows the table of a deployment, and `helmdeck budgets MODEL` the source of each "
        "field for one model.",
        f"In and out are in tokens, catalog is in UTF-8 bytes, cached $ in US dollars per million cached input tokens. {flags}.",
        _starred(policy),
        "## Rows",
        table(headings, rows, right=(2, 3, 4, 7)),
        "A model id that ends in `:free` never gets more than the fallback, whatever its row. Providers that serve a "
        "vendor's models under its names share its rows, such as `gemini/` and `google/`. The name of a reasoning model, such "
        "as `deepseek-r1` or `qwq`, sets *hybrid* and 4,000 tokens of headroom. On `vllm`, `sglang`, `llamacpp` and "
        "`lmstudio`, names whose chat template opens the reasoning block also set `starts_in_reasoning`.",
        "With the extra `prices`, `helmdeck budgets` also shows list prices from `genai-prices`, where a row has no prices of "
        "its own, and calls to a model without a row get the context window that is listed for it.",
        "## Fields",
        table(("field", "description"), fields),
    )


def _starred(text: str) -> str:
    return re.sub(r"(\[budgets[^\]]*\])", r"`\1`", text)


# -- failures --------------------------------------------------------------------------------------------------


FIELD_DESCRIPTIONS: Mapping[str, str] = {
    "provider": "the provider, the first part of the model id",
    "attempt": "the number of the attempt, from 1",
    "status": "the HTTP status, if any",
    "retry_after_s": "the `Retry-After` of the provider in seconds, if any",
    "detail": "the exact error and its location",
}


def failures() -> str:
    """Return the page of failures."""
    from helmdeck_core.cli.exit_codes import BY_CAUSE, MEANINGS
    from helmdeck_core.domain.decode import DecodeFailed
    from helmdeck_core.errors import FAILURES, CallFailed, PackErrorCode

    rows = [
        (
            f"`{cause.value}`",
            f"`{cls.__name__}`",
            *general_hint(cause),
            "yes" if cls.retryable else "no",
            f"`{cls.usual_code.value}`",
            str(int(BY_CAUSE[cause])),
        )
        for cause, cls in FAILURES.items()
    ]
    texts = {**FIELD_DESCRIPTIONS, **documented(CallFailed)[1]}
    fields = [(f"`{name}`", texts[name]) for name in inspect.signature(CallFailed).parameters]
    causes = documented(DecodeFailed)[1]["sub_cause"].rstrip(".")
    codes = ", ".join(f"`{code.value}`" for code in PackErrorCode)
    exit_codes = [(str(int(code)), meaning) for code, meaning in sorted(MEANINGS.items())]
    return page(
        "Failures",
        "A call without a usable response raises a subclass of `CallFailed`. The message consists of the caller, the error, the hint "
        "and the next action. `to_dict()` returns the same as data, and `--json` prints it.",
        "## Causes",
        table(("cause", "exception", "hint", "next", "retryable", "pack code", "exit code"), rows, right=(6,)),
        "## Fields",
        table(("field", "description"), fields),
        "## Sub-causes",
        f"A response that cannot be decoded has a `sub_cause`: {causes}.",
        "These sub-causes have their own hint and next action:",
        table(("cause / sub-cause", "hint", "next"), sub_causes()),
        "## Recovery rules",
        "The built-in rules. Actions are tried in order. An action is skipped if a limit does not allow it, if there is no further "
        "model, or if it would repeat a request that is known to fail. A plugin replaces a rule by its name, through "
        "`helmdeck_recovery_rules`; see [Write a recovery rule](../how-to/write-budgets-and-failure-rules.md#recovery-rules).",
        table(("cause", "actions"), recovery_rules()),
        "## Other errors",
        f"A failing pack raises `PackError` with one of the codes {codes}. `ConfigError` and `CatalogError` contain all mistakes. "
        "`PluginError` names the plugin, the hook and the option that disables it.",
        "## Exit codes",
        table(("code", "meaning"), exit_codes, right=(0,)),
    )


def general_hint(cause: Any) -> tuple[str, str]:
    """Return the hint and the next action of a failure class."""
    from helmdeck_core.errors.hints import hints

    rule = next(rule for rule in hints() if rule.cause == cause and not rule.sub_causes and not rule.when)
    return rule.hint, rule.next


def sub_causes() -> list[tuple[str, str, str]]:
    """Return one row per sub-cause."""
    from helmdeck_core.errors.hints import hints

    def condition(rule: Any) -> str:
        names = " or ".join(f"`{name}`" for name in rule.sub_causes) or "any"
        return f"{names}, {' and '.join(rule.when).replace('_', ' ')}" if rule.when else names

    rules = [rule for rule in hints() if rule.sub_causes or rule.when]
    return [(f"`{rule.cause}` / {condition(rule)}", rule.hint, rule.next) for rule in rules]


def recovery_rules() -> list[tuple[str, str]]:
    """Return one row per built-in rule."""
    from helmdeck_core import RecoveryRule
    from helmdeck_testing import make_deck

    with make_deck() as deck:
        rules = [contribution.value for contribution in deck.runtime.contributed(RecoveryRule).values()]
    return [(f"`{rule.name}`", "; then ".join(map(str, rule.actions)) or "surface it") for rule in rules]


# -- events ----------------------------------------------------------------------------------------------------


def events() -> str:
    """Return the page of events."""
    from helmdeck_core.domain import events as module

    parts = [
        ticked(inspect.getdoc(module) or ""),
        "Plugins receive events through `helmdeck_event_sinks`. Sinks use the lower-case name of an event.",
    ]
    for cls in typing.get_args(module.Event):
        text, _ = documented(cls)
        fields = {name: doc for base in reversed(cls.__mro__) for name, doc in documented(base)[1].items()}
        hints = {field.name: field.type for field in attrs.fields(cls)}
        rows = [(f"`{name}`", f"`{kind}`", fields.get(name, "")) for name, kind in hints.items()]
        parts += [
            f"## {cls.__name__}",
            f"`{cls.name}`: {text[:1].lower()}{text[1:]}",
            table(("field", "type", "description"), rows),
        ]
    return page("Events", *parts)


def testing() -> str:
    """Return the page of `helmdeck_testing`."""
    return page("Testing", *testing_page.parts(entry, table, descriptions_of_names, public_names))


# -- the ladder and the built-ins ------------------------------------------------------------------------------


def ladder() -> str:
    """Return the page of trim steps."""
    from helmdeck_core import TrimStep
    from helmdeck_testing import make_deck

    with make_deck() as deck:
        steps = [contribution.value for contribution in deck.runtime.contributed(TrimStep).values()]
        tiers = deck.runtime.budgets.tiers
    rows = [(str(number), f"`{step.name}`", str(step.order), step.summary) for number, step in enumerate(steps, 1)]
    caps = ", ".join(
        f"{tier.value} {'none' if each.max_catalog_bytes is None else f'{each.max_catalog_bytes:,} bytes'}"
        for tier, each in tiers.items()
    )
    return page(
        "The ladder",
        "The built-in trim steps in order. They stop as soon as the catalog fits. The name of a step is its label in `dropped`; a "
        "step that removes nothing leaves no label.",
        table(("#", "step", "order", "description"), rows, right=(0, 2)),
        "Pack names, pipeline ids and names, and `supersedes` are restored if a step removes them, and the record contains "
        "`invariant_restored(STEP:FIELD)`. A catalog that is still too large after the last step is labelled "
        "`still_over_budget(AFTER>CAP)`, and entries are then selected by rank.",
        f"Default limits by tier: {caps}. [Override the trim order](../how-to/fit-the-catalog-to-a-model.md#trim-order).",
    )


def built_ins() -> str:
    """Return the page of built-in plugins and their contributions."""
    from helmdeck_core import CatalogSource, Pack, PromptVariant, ProviderSpec, Ranker
    from helmdeck_testing import make_deck

    with make_deck() as deck:
        runtime = deck.runtime
    plugins = [(f"`{info.name}`", ", ".join(f"`{hook}`" for hook in info.hooks)) for info in runtime.plugins.infos]
    providers = [
        (
            f"`{name}`",
            contribution.value.summary,
            contribution.value.base_url or "",
            f"`{contribution.value.api_key}`" if contribution.value.api_key else "",
            _options(contribution.value.options),
        )
        for name, contribution in runtime.contributed(ProviderSpec).items()
    ]
    rankers = [
        (f"`{name}`", each.value.summary, _options(each.value.options))
        for name, each in runtime.contributed(Ranker).items()
    ]
    names: Mapping[str, Mapping[str, Any]] = {
        "Prompt variants": runtime.contributed(PromptVariant),
        "Packs": runtime.contributed(Pack),
        "Catalog sources": runtime.contributed(CatalogSource),
    }
    parts = [
        (
            "`--disable-plugin NAME` disables a plugin; a contribution of the same name replaces a built-in value. "
            "`helmdeck plugins list` and `helmdeck plugins show NAME` show the plugins of a deployment."
        ),
        "## Plugins",
        table(("plugin", "hooks"), plugins),
        "## Providers",
        table(("provider", "description", "URL", "key", "options"), providers),
        "## Rankers",
        table(("ranker", "description", "options"), rankers),
    ]
    for heading, values in names.items():
        rows = [(f"`{name}`", f"`{contribution.plugin}`") for name, contribution in values.items()]
        parts += [f"## {heading}", table(("name", "plugin"), rows)]
    for heading, hook in (
        ("Reasoning tags", "helmdeck_reasoning_tags"),
        ("Decode steps", "helmdeck_decode_steps"),
        ("Tool-call formats", "helmdeck_tool_call_formats"),
        ("Stop-reason tables", "helmdeck_stop_reasons"),
    ):
        listed = ", ".join(f"`{contribution.value.name}`" for contribution in runtime.contributions[hook])
        parts += [f"## {heading}", f"In order: {listed}."]
    return page("Built-ins", *parts)


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key} = {_toml(value)}`" for key, value in options.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_quoted(key)} = {_toml(each)}' for key, each in value.items())} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, (list, tuple)) else _quoted(value)


def commands() -> str:
    """Return the page of commands and their options."""
    from helmdeck_core.cli.options import Parser
    from helmdeck_core.cli.registry import CommandRegistry
    from helmdeck_core.config.types import PluginsConfig

    found = CommandRegistry.load(PluginsConfig(autoload=False)).commands
    rows = [
        (f"[`{name}`](#{_anchor(name)})", owned.value.summary, f"`{owned.plugin}`") for name, owned in found.items()
    ]
    parts = [
        "Global options, in any position: " + ", ".join(f"`{each}`" for each in _global_options()) + ". "
        "With `--json`, every command prints data, errors included. Exit codes are listed under [failures](failures.md#exit-codes).",
        table(("command", "description", "plugin"), rows),
        (
            "Every command is contributed by a plugin. Plugins add commands and replace these by name; see [how to write a "
            "command](../how-to/write-commands-screens-and-stores.md#commands). `--disable-plugin` removes a command."
        ),
    ]
    for name, owned in found.items():
        text = owned.value.summary
        parser = Parser(f"helmdeck {name}")
        owned.value.configure(parser)
        options = [
            (
                ", ".join(f"`{each}`" for each in action.option_strings) or f"`{action.metavar or action.dest}`",
                action.help or "",
            )
            for action in parser._actions  # noqa: SLF001 - argparse has no public list
            if action.dest != "help" and action.help != argparse.SUPPRESS
        ]
        parts += [f"## helmdeck {name}", f"{text[:1].upper()}{text[1:]}."]
        parts += [table(("option", "description"), options)] if options else []
    return page("Commands", *parts)


def _anchor(name: str) -> str:
    return f"helmdeck-{name.replace(' ', '-')}"


def _global_options() -> list[str]:
    from helmdeck_core.cli import options

    return [*options.WITH_VALUE, *options.SWITCHES]


def packages() -> str:
    """Return the page of the packages."""
    return page(
        "Packages",
        (
            "What each package does, and what it imports besides `helmdeck_core`; only public names are imported, which "
            "`__init__.pyi` of a package lists. Tests are in the folder of the same name: `pytest tests/helmdeck_mcp`."
        ),
        "![The packages and their imports](packages.svg)",
        table(("package", "what it does", "imports", "plugins"), packages_page.rows()),
    )


REFERENCE: Mapping[str, Callable[[], str]] = {
    "budgets.md": budgets,
    "built-ins.md": built_ins,
    "commands.md": commands,
    "configuration.md": configuration,
    "continuation.md": continuation,
    "events.md": events,
    "failures.md": failures,
    "ladder.md": ladder,
    "mcp-server.md": lambda: page("MCP server", *mcp_page.parts(table)),
    "metrics.md": lambda: page("Metrics", *metrics_page.parts(table)),
    "packages.md": packages,
    "packages.svg": packages_page.picture,
    **public_names_pages.pages(),
    "testing.md": testing,
}
"""Each page and its generator."""
