"""The reference pages, written from code: docstrings, tables and what the built-in plugins contribute."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import testing_page
from continuation_page import continuation

NOTICE = "<!-- Written by `python docs/generate.py --write`; a test compares. Change the code instead. -->"


# -- what several pages need -----------------------------------------------------------------------------------


def page(title: str, *parts: str) -> str:
    """A page of the reference."""
    return "\n\n".join([f"# {title}", NOTICE, *(part.strip("\n") for part in parts if part)]) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A Markdown table; ``right`` are the columns of figures."""
    numeric = set(right)
    rule = ["--:" if column in numeric else "---" for column in range(len(headings))]
    lines = [headings, rule, *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def ticked(text: str) -> str:
    """Text of a docstring as Markdown."""
    return text.replace("``", "`")


def documented(cls: object) -> tuple[str, dict[str, str]]:
    """A class's docstring without its fields, and the fields' own texts."""
    text, fields, name = [], {}, ""
    for line in (inspect.getdoc(cls) or "").splitlines():
        if found := re.match(r":(?:ivar|param|raises) ?(\w*): ?(.*)", line):
            name = found[1]
            fields[name] = found[2]
        elif name and line.startswith(" "):
            fields[name] += f" {line.strip()}"
        else:
            name = ""
            text.append(line)
    return ticked("\n".join(text).strip()), {key: ticked(value) for key, value in fields.items()}


def summary(value: object) -> str:
    """The first line of a docstring."""
    return ticked((inspect.getdoc(value) or "").partition("\n")[0])


def type_name(annotation: Any) -> str:
    """A type as people write it."""
    arguments = typing.get_args(annotation)
    if annotation is type(None):
        return "None"
    if type(None) in arguments:
        return type_name(next(each for each in arguments if each is not type(None)))
    if typing.get_origin(annotation) is tuple:
        return f"list of {type_name(arguments[0])}s"
    if annotation is Any:
        return "any value"
    if isinstance(annotation, type) and not arguments:
        return {"str": "text", "int": "integer", "float": "number", "bool": "true or false"}.get(
            annotation.__name__, annotation.__name__
        )
    if len(arguments) == 2:
        return f"table of {type_name(arguments[1])}s"
    return str(annotation)


# -- configuration ---------------------------------------------------------------------------------------------

NOT_SAID: Mapping[str, str] = {
    "providers.NAME.base_url": "where the server is; left out: the preset's address",
    "providers.NAME.api_key": "a reference to the key, `env:NAME` or `file:PATH`; never the key itself",
    "providers.NAME.headers": "headers that go with every request; their values are never shown",
    "providers.NAME.options": "keys of the provider's own, such as those under [built-ins](built-ins.md#providers)",
    "providers": "by name: the first part of the model ids that the provider serves",
    "budgets.NAME.tier": "`A` reliable under load, `B` to about 25 KB of catalog, `C` a small catalog only",
    "catalog.sources": "names of sources, or paths of JSON or TOML files; later ones override by id",
    "compaction.order": "the trim steps that run, in this order; left out: all, in their own order",
    "compaction.drop": "steps that do not run",
    "compaction.tiers": "the same two keys for one tier: `A`, `B` or `C`",
    "compaction.models": "the same two keys for model ids that start with the table's name; the longest start counts",
}
"""Keys whose classes leave it to the table around them to say what they are."""


def configuration() -> str:
    """Every key."""
    from helmdeck_core.config.load import ENV_SHORT
    from helmdeck_core.config.types import Config

    tables: dict[str, list[Sequence[str]]] = {}
    for key, kind, default, doc in keys(Config):
        tables.setdefault(key.rpartition(".")[0], []).append((f"`{key}`", kind, default, doc, f"`{variable(key)}`"))
    short = [f"`{name}` is short for `{variable('.'.join(path))}`" for name, path in ENV_SHORT.items()]
    parts = [
        (
            "Every key can be left out. Files, variables and arguments are laid over one another in this order, and "
            "`helmdeck config show` says which one counts; see [how to configure](../how-to/configure.md)."
        ),
        (
            "The file is the one of `--config`, else the one that `HELMDECK_CONFIG` names, else the nearest `helmdeck.toml` or "
            "`pyproject.toml` with a table `[tool.helmdeck]`, from the current folder upwards."
        ),
        (
            "In a variable's name, two underscores stand between levels. A list is written with commas, true and false as "
            f"such or as 1 and 0. {'; '.join(short)}."
        ),
    ]
    for prefix, rows in tables.items():
        heading = f"[{prefix}]" if prefix else "At the top"
        parts += [f"## {heading}", table(("key", "type", "default", "what it says", "variable"), rows)]
    return page("Configuration", *parts)


def keys(cls: Any, above: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Key, type, default and text of every key, tables with free names as ``NAME``."""
    from helmdeck_core.domain.chat import ProviderSettings
    from helmdeck_core.domain.models import Budget

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
        doc = texts.get(field.name) or NOT_SAID.get(key, "")
        if not doc and cls.__name__ in ("BudgetConfig", "ProviderConfig"):
            # What a deployment sets is described where it arrives.
            doc = documented(Budget if cls.__name__ == "BudgetConfig" else ProviderSettings)[1][field.name]
        yield key, _kind(kind), _default(getattr(defaults, field.name)), (doc or _not_said(key)).rstrip(".")
    for kind, key in inner:
        yield from keys(kind, key)


def _not_said(key: str) -> str:
    if key not in NOT_SAID:
        raise LookupError(f"{key} is documented nowhere: say it in its class, as `:ivar {key.rpartition('.')[2]}:`")
    return NOT_SAID[key]


def _kind(kind: Any) -> str:
    name = type_name(kind)
    if "SecretRef" in name:
        return "text"
    is_nested = "Config" in name or name.startswith("table of table ") or name.endswith("Rules")
    return "table of tables" if is_nested else {"Tier": "`A`, `B` or `C`"}.get(name, name)


def _default(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        said = ", ".join(f"{key} = {each}" for key, each in value.items())
        return f"`{{ {said} }}`" if said else ""
    if isinstance(value, tuple):
        return f"`[{', '.join(_quoted(each) for each in value)}]`"
    return f"`{_quoted(value)}`"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def variable(key: str) -> str:
    """The environment variable of a key."""
    return "HELMDECK_" + key.replace(".", "__").upper()


# -- budgets ---------------------------------------------------------------------------------------------------


def budgets() -> str:
    """The table."""
    from helmdeck_core.domain.models import Budget
    from helmdeck_plugins.commands.budgets import FLAGS, budget_data, describe_policy
    from helmdeck_testing import make_deck

    with make_deck() as deck:
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
        policy = describe_policy(deck.budget("").budget)
    headings = ("model id starts with", "tier", "in", "out", "catalog", "flags", "variant", "cached $", "evidence")
    fields = [(f"`{name}`", text) for name, text in documented(Budget)[1].items()]
    flags = ", ".join(f"*{word}* is `{name}`" for word, name in FLAGS)
    return page(
        "Budgets",
        "What each model is asked to take and to give, as it ships. `helmdeck budgets` shows the table of a deployment, and "
        "`helmdeck budgets MODEL` where each field of one model comes from.",
        f"In and out are tokens, catalog is UTF-8 bytes, cached $ is US dollars per million cached input tokens. {flags}.",
        _starred(policy),
        "## The rows",
        table(headings, rows, right=(2, 3, 4, 7)),
        "A model id that ends in `:free` never gets more than the fallback, whatever row it has. Provider aliases meet: "
        "`gemini/`, `vertex/` and `google/` have the same rows. A name that says that the model thinks, such as "
        "`deepseek-r1` or `qwq`, sets *hybrid* and 4,000 tokens of headroom.",
        "## The fields",
        table(("field", "what it says"), fields),
    )


def _starred(text: str) -> str:
    return re.sub(r"(\[budgets[^\]]*\])", r"`\1`", text)


# -- failures --------------------------------------------------------------------------------------------------


FIELDS_NOT_SAID: Mapping[str, str] = {
    "provider": "the first part of the model id",
    "attempt": "which attempt it was, counted from 1",
    "status": "the HTTP status, where there was one",
    "retry_after_s": "how many seconds the provider asks to wait, where it says so",
    "detail": "what exactly is wrong, and where",
}


def failures() -> str:
    """Every cause."""
    from helmdeck_core.cli.exit_codes import BY_CAUSE, MEANINGS
    from helmdeck_core.domain.decode import DecodeFailed
    from helmdeck_core.errors import FAILURES, CallFailed, PackErrorCode

    rows = [
        (
            f"`{cause.value}`",
            f"`{cls.__name__}`",
            cls.hint,
            cls.next_action,
            "yes" if cls.retryable else "no",
            f"`{cls.usual_code.value}`",
            str(int(BY_CAUSE[cause])),
        )
        for cause, cls in FAILURES.items()
    ]
    texts = {**FIELDS_NOT_SAID, **documented(CallFailed)[1]}
    fields = [(f"`{name}`", texts[name]) for name in inspect.signature(CallFailed).parameters]
    causes = documented(DecodeFailed)[1]["sub_cause"].rstrip(".")
    codes = ", ".join(f"`{code.value}`" for code in PackErrorCode)
    exit_codes = [(str(int(code)), meaning) for code, meaning in sorted(MEANINGS.items())]
    return page(
        "Failures",
        "A call that gives nothing usable raises one subclass of `CallFailed`. The message starts with the name of who "
        "asked, then says what happened, then the hint, then what to do next. `to_dict()` gives the same as data, and "
        "`--json` prints it.",
        "## Causes",
        table(("cause", "exception", "hint", "next", "retryable", "pack code", "exit code"), rows, right=(6,)),
        "## Fields",
        table(("field", "what it says"), fields),
        "## Finer causes",
        f"An answer that cannot be read has a `sub_cause`: {causes}.",
        "These say more than their cause does, and have a hint and a next action of their own:",
        table(("cause / finer cause", "hint", "next"), finer_causes()),
        "## What is done about them",
        "The built-in rules. What stands first is tried first; an action that a limit, the lack of a further model or a request "
        "that is known to fail does not allow is passed over. A plugin replaces a rule by its name, through "
        "`helmdeck_recovery_rules`; see [how to write a recovery rule](../how-to/write-a-recovery-rule.md).",
        table(("cause", "what is tried"), recovery_rules()),
        "## Other errors",
        f"A pack that fails raises `PackError` with one code of {codes}. `ConfigError` and `CatalogError` hold every mistake "
        "at once. `PluginError` names the plugin, the hook and how to go on without it.",
        "## Exit codes",
        table(("code", "meaning"), exit_codes, right=(0,)),
    )


def finer_causes() -> list[tuple[str, str, str]]:
    """What is said of finer causes, a row each."""
    from helmdeck_core.errors import FailureClass
    from helmdeck_core.errors.hints import FINER, WINDOW_FULL

    rows = [
        (f"`{cause.value} / {finer}`", *advice) for cause, found in FINER.items() for finer, advice in found.items()
    ]
    full = (f"`{FailureClass.LENGTH_TRUNCATED.value}`, stop reason `ContextWindowExceeded`", *WINDOW_FULL)
    return [*rows, full]


def recovery_rules() -> list[tuple[str, str]]:
    """The built-in rules, a row each."""
    from helmdeck_testing import make_deck

    with make_deck() as deck:
        rules = [owned.value for owned in deck.runtime.recovery_rules.values()]
    return [(f"`{rule.name}`", "; then ".join(map(str, rule.actions)) or "surface it") for rule in rules]


# -- events ----------------------------------------------------------------------------------------------------


def events() -> str:
    """Every event."""
    from helmdeck_core.domain import events as module

    parts = [
        ticked(inspect.getdoc(module) or ""),
        "A plugin receives them through `helmdeck_event_sinks`. The name in small letters is what sinks call an event.",
    ]
    for cls in typing.get_args(module.Event):
        text, _ = documented(cls)
        fields = {name: said for base in reversed(cls.__mro__) for name, said in documented(base)[1].items()}
        hints = {field.name: field.type for field in attrs.fields(cls)}
        rows = [(f"`{name}`", f"`{kind}`", fields.get(name, "")) for name, kind in hints.items()]
        parts += [
            f"## {cls.__name__}",
            f"`{cls.name}`: {text[:1].lower()}{text[1:]}",
            table(("field", "type", ""), rows),
        ]
    return page("Events", *parts)


# -- public names ----------------------------------------------------------------------------------------------


def public_names(package: Any) -> dict[str, str]:
    """The public names of a package and the module that defines each: the lines ``from M import N as N`` of its one list."""
    source = Path(inspect.getfile(package))
    stub = source.with_suffix(".pyi")
    lines = (stub if stub.exists() else source).read_text(encoding="utf-8").splitlines()
    imports = [line.split() for line in lines if re.match(r"\s*from \S+ import (\S+) as \1$", line)]
    return {words[3]: words[1] for words in imports}


def public_api() -> str:
    """Every public name, grouped by the module that defines it."""
    import helmdeck_core
    import helmdeck_core.cli
    import helmdeck_provider_kit

    groups: dict[str, list[str]] = {}
    for name, module in public_names(helmdeck_core).items():
        groups.setdefault(module, []).append(name)
    parts = [
        (
            "Everything below is imported from `helmdeck_core`. What is not listed here is not public, with these exceptions: "
            "`helmdeck_core.log` enables and disables log lines, `helmdeck_core.redaction` redacts secrets, `helmdeck_testing` is "
            "the test kit. At the end of this page, `helmdeck_core.cli` is for commands and `helmdeck_provider_kit` for providers that "
            "speak HTTP."
        ),
    ]
    for module, names in sorted(groups.items()):
        home = import_module(module)
        parts += [f"## {module.removeprefix('helmdeck_core.')}", summary(home)]
        said = said_of_names(home)
        parts += [_entry(name, getattr(helmdeck_core, name), said) for name in sorted(names, key=str.casefold)]
    return page("Public names", *parts, *_package(helmdeck_core.cli), *_package(helmdeck_provider_kit))


def _package(package: Any) -> list[str]:
    """The public names of a package, in one section."""
    homes = public_names(package)
    said = {name: text for module in set(homes.values()) for name, text in said_of_names(import_module(module)).items()}
    intro = ticked(inspect.getdoc(package) or "")
    names = [_entry(name, getattr(package, name), said) for name in sorted(homes, key=str.casefold)]
    return [f"## {package.__name__}", intro, *names]


def _known_names() -> Mapping[str, str]:
    return {
        "Event": "Any of the [events](events.md).",
        "hookimpl": "Marks a function of a plugin as the implementation of the [hook](../../hookspecs.md) of its name.",
        "FAILURES": "The exception of every [cause](failures.md#causes).",
    }


def said_of_names(home: Any) -> dict[str, str]:
    """The text below each assignment of a module."""
    found: dict[str, str] = {}
    body = ast.parse(inspect.getsource(home)).body
    for before, node in itertools.pairwise(body):
        target = before.targets[0] if isinstance(before, ast.Assign) else getattr(before, "target", None)
        if isinstance(target, ast.Name) and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[target.id] = ticked(str(node.value.value))
    return found


def _entry(name: str, value: Any, said: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return f"### {name}\n\nThe text `{value!r}`. {said.get(name, '')}".rstrip()
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return f"### {name}\n\n{said.get(name) or _known_names()[name]}"
    lines = [f"### {name}", "", summary(value)]
    if signature := _signature(name, value):
        lines += ["", "```python", signature, "```"]
    fields = {name: said for name, said in documented(value)[1].items() if name}
    listed = [f"- {'raises ' * name[0].isupper()}`{name}`: {said}" for name, said in fields.items()]
    methods = list(_methods(value))
    for lists in filter(None, (listed, methods)):
        lines += ["", *lists]
    return "\n".join(lines)


def testing() -> str:
    """What tests use."""
    return page("Testing", *testing_page.parts(_entry, table, said_of_names, public_names))


def _signature(name: str, value: Any) -> str:
    if isinstance(value, type) and (getattr(value, "_is_protocol", False) or _is_enum(value)):
        return (
            "\n".join(f'{name}.{each.name} = "{each.value}"' for each in vars(value)["_member_map_"].values())
            if _is_enum(value)
            else ""
        )
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    given = [_parameter(each) for each in signature.parameters.values()]
    marked = _with_markers(list(signature.parameters.values()), given)
    line = f"{name}({', '.join(marked)})"
    if inspect.isfunction(value) and signature.return_annotation is not signature.empty:
        line += f" -> {signature.return_annotation}"
    return line if len(line) <= 110 else f"{name}(\n    " + ",\n    ".join(marked) + "\n)" + line.rpartition(")")[2]


def _parameter(parameter: inspect.Parameter) -> str:
    text = parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_said(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_short(parameter.default)}"
    stars = "*" * (1 if parameter.kind is parameter.VAR_POSITIONAL else 2 * (parameter.kind is parameter.VAR_KEYWORD))
    return stars + text


def _said(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _short(default: Any) -> str:
    text = repr(default)
    return "..." if len(text) > 24 or " at 0x" in text or text in ("NOTHING", "mappingproxy({})") else text


def _with_markers(parameters: Sequence[inspect.Parameter], given: Sequence[str]) -> list[str]:
    marked: list[str] = []
    for parameter, text in zip(parameters, given, strict=True):
        if (
            parameter.kind is parameter.KEYWORD_ONLY
            and "*" not in marked
            and not any(m.startswith("*") for m in marked)
        ):
            marked.append("*")
        marked.append(text)
    return marked


def _methods(value: Any) -> Iterator[str]:
    if not isinstance(value, type) or _is_enum(value) or issubclass(value, BaseException):
        return
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if inspect.isfunction(function):
            names = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
            yield f"- `{name}({', '.join(names)})`: {summary(function)}"
        elif isinstance(member, property) or type(member).__name__ == "cached_property":
            yield f"- `{name}`: {summary(getattr(member, 'fget', None) or getattr(member, 'func', None))}"


def _is_enum(value: Any) -> bool:
    return isinstance(value, type) and hasattr(value, "__members__")


# -- the ladder, and everything else that ships ----------------------------------------------------------------


def ladder() -> str:
    """The trim steps."""
    from helmdeck_core.domain.models import TIER_CATALOG_BYTES
    from helmdeck_testing import make_deck

    with make_deck() as deck:
        steps = [owned.value for owned in deck.runtime.trim_steps.values()]
    rows = [(str(number), f"`{step.name}`", str(step.order), step.summary) for number, step in enumerate(steps, 1)]
    caps = ", ".join(
        f"{tier.value} {'none' if cap is None else f'{cap:,} bytes'}" for tier, cap in TIER_CATALOG_BYTES.items()
    )
    return page(
        "The ladder",
        "The trim steps that ship, in the order in which they run. They stop as soon as the catalog that will be sent fits. "
        "A step's name is its label in `dropped`; a step that cuts nothing leaves no label.",
        table(("#", "step", "order", "what it does"), rows, right=(0, 2)),
        "Pack names, pipeline ids and names, and `supersedes` are put back if a step cuts them, and the record says "
        "`invariant_restored(STEP:FIELD)`. A catalog that is still too large after the last step is marked "
        "`still_over_budget(AFTER>CAP)`, and entries are then chosen by rank.",
        f"Default caps by tier: {caps}. [How to override the order](../how-to/override-the-trim-order.md).",
    )


def built_ins() -> str:
    """Every plugin that ships, and what it contributes."""
    from helmdeck_testing import make_deck

    with make_deck() as deck:
        runtime = deck.runtime
    plugins = [(f"`{info.name}`", ", ".join(f"`{hook}`" for hook in info.hooks)) for info in runtime.plugins.infos]
    providers = [
        (
            f"`{name}`",
            owned.value.summary,
            owned.value.base_url or "",
            f"`{owned.value.api_key}`" if owned.value.api_key else "",
            _options(owned.value.options),
        )
        for name, owned in runtime.providers.items()
    ]
    rankers = [
        (f"`{name}`", each.value.summary, _options(each.value.options)) for name, each in runtime.rankers.items()
    ]
    names: Mapping[str, Mapping[str, Any]] = {
        "Prompt variants": runtime.variants,
        "Packs": runtime.packs,
        "Catalog sources": runtime.sources,
    }
    parts = [
        (
            "Every plugin below can be switched off with `--disable-plugin NAME`, and every value replaced by contributing one "
            "of the same name. `helmdeck plugins list` and `helmdeck plugins show NAME` show a deployment's own."
        ),
        "## Plugins",
        table(("plugin", "hooks"), plugins),
        "## Providers",
        table(("provider", "", "address", "key", "options"), providers),
        "## Rankers",
        table(("ranker", "", "options"), rankers),
    ]
    for heading, values in names.items():
        rows = [(f"`{name}`", f"`{owned.plugin}`") for name, owned in values.items()]
        parts += [f"## {heading}", table(("name", "plugin"), rows)]
    for heading, hook in (
        ("Reasoning tags", "helmdeck_reasoning_tags"),
        ("Decode steps", "helmdeck_decode_steps"),
        ("Tool-call dialects", "helmdeck_tool_call_formats"),
        ("Stop-reason tables", "helmdeck_stop_reasons"),
    ):
        listed = ", ".join(f"`{owned.value.name}`" for owned in runtime.contributions[hook])
        parts += [f"## {heading}", f"In order: {listed}."]
    return page("Built-ins", *parts)


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key} = {_toml(value)}`" for key, value in options.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_quoted(key)} = {_toml(each)}' for key, each in value.items())} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, (list, tuple)) else _quoted(value)


def commands() -> str:
    """Every command with its own options."""
    from helmdeck_core.cli.options import Parser
    from helmdeck_core.cli.registry import CommandRegistry
    from helmdeck_core.config.types import PluginsConfig

    found = CommandRegistry.load(PluginsConfig(autoload=False)).commands
    rows = [
        (f"[`{name}`](#{_anchor(name)})", owned.value.summary, f"`{owned.plugin}`") for name, owned in found.items()
    ]
    parts = [
        "The global options may stand before and after the command: "
        + ", ".join(f"`{each}`" for each in _global_options())
        + ". With `--json` every command prints JSON, errors included. Exit codes are under "
        "[failures](failures.md#exit-codes).",
        table(("command", "purpose", "plugin"), rows),
        (
            "Every command is contributed by a plugin. A plugin of your own adds commands, or replaces these by name; see [how "
            "to write a command](../how-to/write-a-command.md). `--disable-plugin` removes a command."
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
            for action in parser._actions  # noqa: SLF001 - argparse lists them nowhere else
            if action.dest != "help"
        ]
        parts += [f"## helmdeck {name}", f"{text[:1].upper()}{text[1:]}."]
        parts += [table(("option", "meaning"), options)] if options else []
    return page("Commands", *parts)


def _anchor(name: str) -> str:
    return f"helmdeck-{name.replace(' ', '-')}"


def _global_options() -> list[str]:
    from helmdeck_core.cli import options

    return [*options.WITH_VALUE, *options.SWITCHES]


REFERENCE: Mapping[str, Callable[[], str]] = {
    "budgets.md": budgets,
    "built-ins.md": built_ins,
    "commands.md": commands,
    "configuration.md": configuration,
    "continuation.md": continuation,
    "events.md": events,
    "failures.md": failures,
    "ladder.md": ladder,
    "public-api.md": public_api,
    "testing.md": testing,
}
"""Every page and what writes it."""
