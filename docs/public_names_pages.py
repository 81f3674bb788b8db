"""The reference pages of the public names: one for each package, and three for the core."""

from __future__ import annotations

import ast
import doctest
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import packages_page
from parts import documented, page, summary, table, ticked


def public_names(package: Any) -> dict[str, str]:
    """Return the public names of a package and their modules, from the lines ``from M import N as N`` of its list."""
    source = Path(inspect.getfile(package))
    stub = source.with_suffix(".pyi")
    lines = (stub if stub.exists() else source).read_text(encoding="utf-8").splitlines()
    imports = [line.split() for line in lines if re.match(r"\s*from \S+ import (\S+) as \1$", line)]
    return {words[3]: words[1] for words in imports}


CORE = {
    "api-core.md": ("helmdeck_core", "decks, configuration, hooks, and all that is on no other page of the core"),
    "api-core-domain.md": ("helmdeck_core: domain types", "the values that hooks and calls exchange"),
    "api-core-errors.md": ("helmdeck_core: errors", "the exception of each cause"),
}
"""The pages of the names that ``helmdeck_core`` exports: title, and what they contain."""


def pages() -> dict[str, Callable[[], str]]:
    """Return the generator of each page of public names, and of their list."""
    import helmdeck_core.cli

    rendered: dict[str, Callable[[], str]] = {"public-api.md": public_api}
    rendered |= {name: partial(_core, name) for name in CORE}
    rendered["api-core-cli.md"] = partial(_package, helmdeck_core.cli)
    return rendered | {name: partial(_package, import_module(package)) for name, package in packages().items()}


def packages() -> dict[str, str]:
    """Return the packages with a page of names, by the page."""
    names = [name for name in packages_page.packages() if name != "helmdeck_testing"]
    return {f"api-{name.removeprefix('helmdeck_')}.md": name for name in names}


def public_api() -> str:
    """Return the list of the pages."""
    rows = [(f"[{title}]({name})", topic) for name, (title, topic) in CORE.items()]
    rows += [("[helmdeck_core.cli](api-core-cli.md)", "what commands import")]
    rows += [(f"[{package}]({name})", packages_page.summary(package)) for name, package in packages().items()]
    rows += [("[helmdeck_testing](testing.md)", packages_page.summary("helmdeck_testing"))]
    return page(
        "Public names",
        "Import these names from the package, such as `from helmdeck_core import Helmdeck`. Everything else is private, modules "
        "included. Times are in seconds (`_s`), sizes in bytes, prices in US dollars per million tokens (`_usd_per_mtok`), unless a "
        "name says otherwise. Each entry lists the errors that it raises; every call to a model can raise those of "
        "[Failures](failures.md) as well. [How-to guides](../README.md#use-it) have the examples, and every one of them is "
        "executed by the tests.",
        table(("package", "contents"), rows),
    )


def _core(name: str) -> str:
    """Return one page of the names of the core, grouped by module."""
    import helmdeck_core

    groups: dict[str, list[str]] = {}
    for public, module in public_names(helmdeck_core).items():
        if _core_page(module) == name:
            groups.setdefault(module, []).append(public)
    title, topic = CORE[name]
    parts = [f"Import these names from `helmdeck_core`: {topic}."]
    for module, names in sorted(groups.items()):
        home = import_module(module)
        group = module.removeprefix("helmdeck_core.")
        parts += [f"## {group}", summary(home) + _guide(group)]
        described = descriptions_of_names(home)
        parts += [entry(each, getattr(helmdeck_core, each), described) for each in sorted(names, key=str.casefold)]
    return page(title, *parts)


GUIDES = {
    "write-a-provider": ("chat", "constraints", "error_rules", "models", "providers", "transports"),
    "write-budgets-and-failure-rules": ("recovery_actions", "routing", "secret_patterns"),
    "write-packs": ("packs", "pack_services", "runs", "web"),
    "write-prompts-and-answer-types": ("answer_types", "chat_input", "questions", "shared_text", "tasks", "texts"),
    "write-readers-of-responses": ("continuation", "decode", "delta_batches", "tool_calls"),
    "write-selection-plugins": ("catalog", "choosing", "instruction_patterns", "ranking", "weights"),
    "write-commands-screens-and-stores": ("commands", "history", "response_caches", "traces"),
    "guard-requests-and-answers": ("guards",),
    "handle-failures": ("errors",),
    "observability": ("event_sinks", "events"),
    "order-a-chain-by-cost": ("chain_policies",),
}
"""The guide with programs for a group of names of the core."""


def _guide(group: str) -> str:
    guides = [name for name, groups in GUIDES.items() if group.removeprefix("domain.") in groups]
    return "".join(f" Guide: [{title_of_guide(name)}](../how-to/{name}.md)." for name in guides)


def title_of_guide(name: str) -> str:
    """Return the title of a how-to guide."""
    text = (Path(__file__).parent / "how-to" / f"{name}.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def _core_page(module: str) -> str:
    part = module.removeprefix("helmdeck_core.").partition(".")[0]
    return f"api-core-{part}.md" if f"api-core-{part}.md" in CORE else "api-core.md"


def _package(package: Any) -> str:
    """Return the page of a package's public names."""
    homes = public_names(package)
    described = {
        name: text
        for module in set(homes.values())
        for name, text in descriptions_of_names(import_module(module)).items()
    }
    names = [entry(name, getattr(package, name), described) for name in sorted(homes, key=str.casefold)]
    listed = ["## Names", *names] if names else ["It has no public names."]
    return page(package.__name__, ticked(inspect.getdoc(package) or ""), *listed)


def _known_names() -> Mapping[str, str]:
    return {
        "Event": "Any of the [events](events.md).",
        "hookimpl": "Marks a function of a plugin as the implementation of the [hook](../../hookspecs.md) with the same name.",
        "FAILURES": "The exception class of every [cause](failures.md#causes).",
    }


def descriptions_of_names(home: Any) -> dict[str, str]:
    """Return the docstring below each assignment of a module."""
    descriptions: dict[str, str] = {}
    body = ast.parse(inspect.getsource(home)).body
    for before, node in itertools.pairwise(body):
        target = before.targets[0] if isinstance(before, ast.Assign) else getattr(before, "target", None)
        if isinstance(target, ast.Name) and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            descriptions[target.id] = ticked(str(node.value.value))
    return descriptions


def entry(name: str, value: Any, descriptions: Mapping[str, str]) -> str:
    """Return the section of one name: its summary, signature, fields, errors and methods."""
    if isinstance(value, str):
        return f"### {name}\n\nThe string `{value!r}`. {descriptions.get(name, '')}".rstrip()
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return f"### {name}\n\n{descriptions.get(name) or _known_names()[name]}"
    lines = [f"### {name}", "", summary(value)]
    if signature := _signature(name, value):
        lines += ["", "```python", signature, "```"]
    fields = {name: doc for name, doc in documented(value)[1].items() if name}
    listed = [f"- {'raises ' * name[0].isupper()}`{name}`: {doc}" for name, doc in fields.items()]
    methods = list(_methods(value))
    lines += ["", *listed] if listed else []
    # Without a line between them, the lists would be one.
    lines += ["", "Methods and properties:", "", *methods] if methods else []
    return "\n".join([*lines, *_examples(name, value)])


def _examples(name: str, value: Any) -> Iterator[str]:
    """Return the example of a docstring, or a link to the first guides whose programs use the name."""
    if examples := doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""):
        yield from ("", "```pycon", *(line for each in examples for line in _session(each)), "```")
    elif guides := [link for link, names in names_in_guides().items() if name in names]:
        yield from ("", f"Used in {' and '.join(guides[:2])}.")


def _session(example: doctest.Example) -> Iterator[str]:
    first, *more = example.source.splitlines()
    yield from (f">>> {first}", *(f"... {line}" for line in more), *example.want.splitlines())


@cache
def names_in_guides() -> Mapping[str, set[str]]:
    """Return what the programs of each guide import from the packages of Helmdeck, by a link to the guide."""
    docs = Path(__file__).parent
    guides = {}
    for path in (docs / "tutorial.md", *sorted(docs.glob("how-to/*.md")), *sorted(docs.glob("coming-from/*.md"))):
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        guides[f"[{title}](../{path.relative_to(docs)})"] = {
            alias.name
            for program in PROGRAM.findall(text)
            for node in ast.walk(ast.parse(textwrap.dedent(program)))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helmdeck_")
            for alias in node.names
        }
    return guides


PROGRAM = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


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
    rendered = [_parameter(each) for each in signature.parameters.values()]
    marked = _with_markers(list(signature.parameters.values()), rendered)
    line = f"{name}({', '.join(marked)})"
    if inspect.isfunction(value) and signature.return_annotation is not signature.empty:
        line += f" -> {signature.return_annotation}"
    return line if len(line) <= 110 else f"{name}(\n    " + ",\n    ".join(marked) + "\n)" + line.rpartition(")")[2]


def _parameter(parameter: inspect.Parameter) -> str:
    text = parameter.name
    has_type = parameter.annotation is not parameter.empty
    if has_type:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f"{' = ' if has_type else '='}{_short(parameter.default)}"
    stars = "*" * (1 if parameter.kind is parameter.VAR_POSITIONAL else 2 * (parameter.kind is parameter.VAR_KEYWORD))
    return stars + text


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _short(default: Any) -> str:
    text = repr(default)
    return "..." if len(text) > 24 or " at 0x" in text or text in ("NOTHING", "{}") else text


def _with_markers(parameters: Sequence[inspect.Parameter], rendered: Sequence[str]) -> list[str]:
    marked: list[str] = []
    for parameter, text in zip(parameters, rendered, strict=True):
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
            yield f"- `{_method(name, function)}`: {summary(function)}{_raised(function)}"
        elif isinstance(member, property) or type(member).__name__ == "cached_property":
            yield f"- `{name}`: {summary(getattr(member, 'fget', None) or getattr(member, 'func', None))}"


def _method(name: str, function: Any) -> str:
    """Return the signature of a method without its first parameter."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    shown = ", ".join(_with_markers(parameters, [_parameter(each) for each in parameters]))
    result = signature.return_annotation
    return f"{name}({shown})" + ("" if result in (signature.empty, "None", None) else f" -> {_annotation(result)}")


def _raised(function: Any) -> str:
    """Return the errors of a method as a sentence."""
    raised = {name: text for name, text in documented(function)[1].items() if name[:1].isupper()}
    return "".join(f" Raises `{name}`: {text}" for name, text in raised.items())


def _is_enum(value: Any) -> bool:
    return isinstance(value, type) and hasattr(value, "__members__")
