"""Packs that are made of typed functions."""

from __future__ import annotations

import asyncio
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode
from helmdeck_runs.pack_builder.effects import effect_hints
from helmdeck_runs.pack_builder.schemas import TypeForm, Unfit, form_of

RESULT: Final = "result"
"""The field of the output for a function whose result is not an object."""

_FIELD = re.compile(r"^\s*:(\w+)\s*(\w*)\s*:[ \t]*", re.MULTILINE)


def pack(
    name: str,
    *,
    version: str = "1",
    description: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    options: type | None = None,
    options_table: str | None = None,
    requires: tuple[str, ...] = (),
    is_listed: bool = True,
    order: int = 0,
) -> Callable[[Callable[..., Any]], Pack]:
    """Make a pack of a typed function, async or not.

    ::

        @pack("ticket.count", read_only=True)
        async def count(context: PackContext, text: str, unit: Literal["words", "lines"] = "words") -> Count:
            '''Count the words or lines of a ticket.

            :param text: the ticket.
            '''

    Every parameter is an input; a single parameter of an object type, such as a Pydantic model, is the whole input. A
    parameter named ``context``, or annotated as ``PackContext``, receives the context. A result that is not an object becomes
    ``{"result": ...}``. A function without ``async`` runs in a worker thread, which a deadline cannot stop.

    :param description: left out: the first paragraph of the docstring; ``:param NAME:`` describes inputs.
    :param options: an attrs class with defaults; ``context.options`` has this type.
    :param options_table: the name of the table in ``[packs.options]``; left out: the name of the pack up to the dot.
    :raises TypeError: a parameter has no annotation, or a type has no JSON Schema; there is no name or description.
    """
    if not isinstance(name, str):
        raise TypeError('a pack needs a name: write @pack("ticket.count") above the function')

    def make(function: Callable[..., Any]) -> Pack:
        text = inspect.getdoc(function) or ""
        found = description or " ".join(_FIELD.split(text)[0].partition("\n\n")[0].split())
        if not found:
            raise TypeError(f"pack {name!r}: write a docstring; its first paragraph is the description in the catalog")
        signature = _Signature.of(name, function, _parameter_texts(text))
        return Pack(
            name=name,
            version=version,
            description=found,
            run=signature.handler(name, function),
            metadata=metadata or {},
            input_schema=signature.input_schema,
            output_schema=signature.output_schema,
            annotations=effect_hints(
                read_only=read_only, destructive=destructive, idempotent=idempotent, open_world=open_world
            ),
            options_type=options,
            options_table=(options_table or name.partition(".")[0]) if options is not None else "",
            requires=requires,
            is_listed=is_listed,
            order=order,
        )

    return make


def _parameter_texts(doc: str) -> dict[str, str]:
    parts = _FIELD.split(doc)[1:]
    fields = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {name: " ".join(text.split()) for kind, name, text in fields if kind == "param" and name}


@attrs.frozen
class _Signature:
    """The signature of a function.

    :ivar context: the name of the parameter for the context; ``None`` without one.
    :ivar inputs: the inputs by name; one of them is the whole input if ``is_whole``.
    """

    context: str | None
    inputs: Mapping[str, TypeForm]
    is_whole: bool
    input_schema: Mapping[str, Any]
    output: TypeForm | None

    @classmethod
    def of(cls, name: str, function: Callable[..., Any], texts: Mapping[str, str]) -> _Signature:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError as exc:
            detail = f"pack {name!r}: the annotations of {function.__name__} cannot be read ({exc}); define types at module level"
            raise TypeError(detail) from exc
        context: str | None = None
        inputs: dict[str, TypeForm] = {}
        defaults: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise TypeError(f"pack {name!r}: the parameter {parameter} has no name on the wire")
            if parameter.name == "context" or hints.get(parameter.name) is PackContext:
                context = parameter.name
                continue
            if parameter.name not in hints:
                raise TypeError(f"pack {name!r}: the parameter {parameter.name!r} has no annotation")
            inputs[parameter.name] = _form(name, parameter.name, hints[parameter.name])
            if parameter.default is not parameter.empty:
                defaults[parameter.name] = parameter.default
        is_whole = len(inputs) == 1 and not defaults and next(iter(inputs.values())).is_object
        schema = _whole_schema(*inputs.values()) if is_whole else _object_schema(name, inputs, defaults, texts)
        result = hints.get("return")
        is_open = result in (None, type(None), Any) or typing.get_origin(result) in (dict, Mapping) or result is dict
        is_open = is_open or getattr(typing.get_origin(result), "__name__", "") == "Mapping"
        return cls(context, inputs, is_whole, schema, None if is_open else _form(name, "return", result))

    @property
    def output_schema(self) -> Mapping[str, Any]:
        """The schema of the output; empty where the function is not annotated with a type."""
        if self.output is None or self.output.is_object:
            return {} if self.output is None else self.output.schema
        inner = {key: value for key, value in self.output.schema.items() if key != "$defs"}
        shared = {"$defs": self.output.schema["$defs"]} if "$defs" in self.output.schema else {}
        return {"type": "object", "properties": {RESULT: inner}, "required": [RESULT], **shared}

    def handler(self, name: str, function: Callable[..., Any]) -> Callable[[PackContext, Any], Any]:
        is_async = inspect.iscoroutinefunction(function)

        async def run(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            values = self._read(name, arguments)
            if self.context is not None:
                values[self.context] = context
            result = await function(**values) if is_async else await asyncio.to_thread(function, **values)
            if self.output is None:
                return {} if result is None else result
            written = self.output.write(result)
            return written if self.output.is_object else {RESULT: written}

        run.__wrapped__ = function  # type: ignore[attr-defined]
        return run

    def _read(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        problems: list[str] = []
        for key, form in self.inputs.items():
            if not self.is_whole and key not in arguments:
                continue
            try:
                values[key] = form.read(dict(arguments) if self.is_whole else arguments[key])
            except Unfit as exc:
                problems.append(str(exc) if self.is_whole else str(exc).replace("$", f"$.{key}", 1))
        if problems:
            raise PackError(name, PackErrorCode.INVALID_INPUT, "; ".join(problems))
        return values


def _form(pack_name: str, parameter: str, kind: Any) -> TypeForm:
    try:
        return form_of(kind)
    except Exception as exc:  # whatever a library raises for a type that it cannot describe
        raise TypeError(f"pack {pack_name!r}: {parameter}: {kind!r} has no JSON Schema ({exc})") from exc


def _whole_schema(form: TypeForm) -> dict[str, Any]:
    # A misspelt input that is ignored would be a wrong result later.
    return {"additionalProperties": False, **{key: each for key, each in form.schema.items() if key != "title"}}


def _object_schema(
    name: str, inputs: Mapping[str, TypeForm], defaults: Mapping[str, Any], texts: Mapping[str, str]
) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for key, form in inputs.items():
        schema = dict(form.schema)
        for title, definition in schema.pop("$defs", {}).items():
            if shared.setdefault(title, definition) != definition:
                raise TypeError(f"pack {name!r}: two different types are called {title!r}; rename one")
        if key in texts:
            schema["description"] = texts[key]
        properties[key] = schema
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [key for key in inputs if key not in defaults]:
        schema["required"] = required
    return {**schema, "$defs": shared} if shared else schema
