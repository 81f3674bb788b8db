"""``helmdeck ask``: a question to a model, answered as text or as JSON of a schema."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli.execution import wait_for
from helmdeck_cli.inputs import add_request, documents, read_object, read_text, request_words, text_argument
from helmdeck_cli.shared_options import add_model
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, make_deck, note, show, show_chunk, show_json

if TYPE_CHECKING:
    from helmdeck_core import Answer, AskOptions, Helmdeck

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
SCHEMA_PROMPT_BYTES = 1_500
"""Bytes of the instructions for an answer in JSON, at most."""

_FIELD = re.compile(r"(?P<name>\w+)(?:\s+(?P<type>\w+)(?P<list>\[\])?)?(?:\s*:\s*(?P<description>.+))?")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_request(parser)
    add_model(parser, "the model")
    parser.add_argument(
        "-s", "--system", metavar="TEXT", type=text_argument, default="", help="instructions for the model"
    )
    parser.add_argument(
        "-a", "--image", metavar="FILE", action="append", default=[], help="an image for the model; may be repeated"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="print the text as it arrives, even if it turns out to be truncated; the exit code remains that of the cause",
    )
    parser.add_argument(
        "--truncate",
        action="store_true",
        help="shorten documents that exceed the model's input limit, from their ends, and print what is left out",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--schema", metavar="FILE", help="a JSON Schema; the answer is JSON that matches it")
    group.add_argument(
        "--fields",
        metavar="FIELDS",
        help='the fields of the JSON answer, such as "name, age int, tags str[], bio: one sentence"; '
        "types: str (default), int, float, bool, each also as a list",
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask and print the answer: once it is complete, or, on a terminal and with ``--partial``, as it arrives."""
    question, texts = request_words(arguments), all_documents(arguments)
    schema = read_object(arguments.schema) if arguments.schema else fields_schema(arguments.fields)
    if arguments.partial and schema is not None:
        raise UsageError("--partial is for answers in text: JSON that is truncated does not match its schema")
    deck = make_deck(arguments)
    options: AskOptions = {"system": arguments.system, "images": arguments.image, "model": arguments.model}
    model = arguments.model or deck.runtime.config.model
    if arguments.model is None:
        _require_model(deck, question)
    if arguments.truncate:
        texts = _truncated(deck, model, texts, [question, arguments.system, _prompt_of(schema)])
    request = "\n\n".join(filter(None, [*(text for _, text in texts), question]))
    try:
        if schema is None and not arguments.json and (arguments.partial or _is_terminal()):
            return _stream(deck, request, options)
        options |= {"partial": arguments.partial, "streams": True}
        # A string is the type of answers without a schema.
        answer = wait_for(deck, f"calling {model}", lambda _: deck.aask(request, schema or str, **options))
    except OSError as exc:
        if exc.filename is None:
            raise
        raise UsageError(f"--image: {exc.filename}: the file cannot be read ({exc.strerror or exc})") from exc
    except ValueError as exc:
        raise UsageError(str(exc)) from exc
    if arguments.json:
        show_json(answer_data(answer))
    elif schema is not None:
        show_json(answer.value)
    else:
        show(answer.value.removesuffix("\n"))
    if answer.incomplete is None:
        return ExitCode.OK
    note(f"helmdeck: the answer is incomplete: {answer.incomplete.value}")
    return ExitCode[answer.incomplete.name]


def _require_model(deck: Helmdeck, question: str) -> None:
    """Check that a model is configured; without one, look for the models of this machine.

    :raises UsageError: none is, with what was found.
    """
    from helmdeck_cli.setup.available_models import find_models
    from helmdeck_cli.setup.no_model import names_no_model, no_model_text

    if names_no_model(deck):
        available = wait_for(deck, "looking for models on this machine", lambda _: find_models(deck))
        raise UsageError(no_model_text(deck, available, question))


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def all_documents(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """The documents, name and text; standard input that is not a terminal is the first one, unless it is the question."""
    found = documents(arguments)
    if not arguments.request or list(arguments.request) == ["-"]:
        return found
    return [("standard input", read_text(None).strip()), *found]


def _prompt_of(schema: dict[str, Any] | None) -> str:
    """About what the prompt has of a schema: itself, and its instructions."""
    return "" if schema is None else json.dumps(schema, ensure_ascii=False) + " " * SCHEMA_PROMPT_BYTES


def _truncated(deck: Helmdeck, model: str, texts: list[tuple[str, str]], rest: list[str]) -> list[tuple[str, str]]:
    """The documents, shortened to the input limit of a model; what is left out is printed."""
    from helmdeck_cli.document_limits import shorten
    from helmdeck_core import BYTES_PER_TOKEN, MESSAGE_TOKENS

    used = sum(len(text.encode("utf-8", "surrogatepass")) for text in rest)
    most = (deck.budget(model).budget.input_tokens - 2 * MESSAGE_TOKENS) * BYTES_PER_TOKEN - used
    shortened = shorten([text for _, text in texts], most - 2 * len(texts))
    for (name, text), kept in zip(texts, shortened, strict=True):
        if len(kept) < len(text):
            left_out = len(text) - len(kept)
            note(f"helmdeck: {name}: the last {left_out:,} of {len(text):,} characters are left out (--truncate)")
    return [(name, kept) for (name, _), kept in zip(texts, shortened, strict=True)]


def _stream(deck: Helmdeck, request: str, options: AskOptions) -> int:
    from helmdeck_core import ChatResponse

    text = ""
    call = deck.stream(deck.chat_request(request, **options), allows_truncated=False, within_budget=True)
    with deck, contextlib.closing(call) as chunks:
        try:
            for chunk in chunks:
                if not isinstance(chunk, ChatResponse) and chunk.text:
                    text = chunk.text
                    show_chunk(text)
        finally:
            if text and not text.endswith("\n"):
                show()  # so that a failure starts on a line of its own
    return ExitCode.OK


def fields_schema(text: str | None) -> dict[str, Any] | None:
    """Return the JSON Schema of fields; ``None`` without any.

    :raises UsageError: a field cannot be read, or is repeated.
    """
    if text is None:
        return None
    properties: dict[str, Any] = {}
    for field in filter(None, map(str.strip, re.split(r"[,\n]", text))):
        match = _FIELD.fullmatch(field)
        kind = _TYPES.get(match["type"] or "str") if match else None
        if match is None or kind is None:
            raise UsageError(
                f"--fields: expected NAME TYPE or NAME: DESCRIPTION, found {field!r}; types: {', '.join(_TYPES)}"
            )
        if match["name"] in properties:
            raise UsageError(f"--fields: the field {match['name']!r} is repeated")
        schema: dict[str, Any] = {"type": "array", "items": {"type": kind}} if match["list"] else {"type": kind}
        properties[match["name"]] = schema | ({"description": match["description"]} if match["description"] else {})
    if not properties:
        raise UsageError("--fields: no field")
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def answer_data(answer: Answer[Any]) -> dict[str, Any]:
    """The answer with the facts of its call as plain data."""
    data: dict[str, Any] = {"value": answer.value, "incomplete": answer.incomplete is not None, "model": answer.model}
    if answer.incomplete is not None:
        data["cause"] = answer.incomplete.value
    if answer.requested_model and answer.requested_model != answer.model:
        data["requested_model"] = answer.requested_model
    if answer.response.reasoning_content:
        data["reasoning_content"] = answer.response.reasoning_content
    usage = answer.usage
    return {
        **data,
        "stop_reason": answer.response.stop_reason.value,
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "cost_usd": answer.cost_usd,
        "attempts": len(answer.attempts),
        "latency_s": round(answer.latency_s, 3),
        "call_id": answer.call_id,
    }


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``ask``."""
    summary = "ask a model a question; print text, or JSON that matches a schema"
    return (Command(name="ask", summary=summary, configure=configure, run=run, order=5),)
