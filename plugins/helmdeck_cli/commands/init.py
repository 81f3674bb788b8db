"""``helmdeck init``: finds a model, writes ``helmdeck.toml``, and asks the model a question."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli.execution import wait_for
from helmdeck_cli.shared_options import add_model
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, can_ask, exit_code_of, failure_lines, hanging, note, show, show_json

if TYPE_CHECKING:
    from helmdeck_cli.setup.available_models import AvailableModels
    from helmdeck_cli.setup.new_config import Choices
    from helmdeck_core import CallFailed, Helmdeck

FILE_NAME = "helmdeck.toml"
QUESTION = "Reply with one short sentence: are you ready to answer questions?"
REQUEST = "remember this and draft a blog post about it"
"""What is planned where no model was found."""

QUESTION_TIMEOUT_S = 60.0
TRANSIENT = ("provider_unavailable", "likely_timeout", "rate_limited", "transient_unknown")
"""Causes that do not mean that the configuration is wrong."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_model(parser, "the model", default="one that this machine can call")
    parser.add_argument("--base-url", metavar="URL", default="", help="the URL of the model's server")
    parser.add_argument(
        "--api-key", metavar="VARIABLE", default="", help="the environment variable with the API key, or file:PATH"
    )
    parser.add_argument(
        "--catalog", metavar="FILE", default="", help="a file with your tools; default: the example catalog"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--no-question", action="store_true", help="do not ask the model a question at the end")


def run(arguments: argparse.Namespace) -> int:
    """Write the file and ask a question."""
    from helmdeck_cli.setup.available_models import find_models
    from helmdeck_core import Helmdeck, load_config

    target: Path = arguments.config or Path(FILE_NAME)
    if target.exists() and not arguments.force:
        raise UsageError(f"{target} exists already; --force replaces it")
    # The file is going to replace any other one, so that only the environment counts.
    deck = Helmdeck(load_config(file=Path(os.devnull), environ=os.environ))
    available = wait_for(deck, "looking for models on this machine", lambda _: find_models(deck))
    choices = _choices(arguments, deck, available, target)
    loaded = _write(deck, choices, target)
    data: dict[str, Any] = {"file": str(target), "model": choices.model}
    if not arguments.json:
        show(f"wrote {target}: model {choices.model}")
    code = ExitCode.OK if arguments.no_question else _try(Helmdeck(loaded), choices.model, data, arguments)
    if arguments.json:
        show_json(data)
    return code


# -- choices -------------------------------------------------------------------------------------------------


def _choices(arguments: argparse.Namespace, deck: Helmdeck, available: AvailableModels, target: Path) -> Choices:
    from helmdeck_cli.setup.new_config import Choices, key_reference, missing_key, needs_url
    from helmdeck_core import ModelId

    asks = can_ask() and not arguments.json
    model = arguments.model or (_ask_model(deck, available) if asks else _default_model(deck, available))
    ModelId.parse(model)
    base_url, api_key, catalog = arguments.base_url, arguments.api_key, arguments.catalog
    if not base_url and needs_url(deck, model):
        provider = ModelId.provider_of(model)
        if not asks:
            raise UsageError(
                f"there is no provider {provider!r} with a URL of its own; give the URL of the server with --base-url"
            )
        base_url = _ask(f"URL of the server {provider!r}, such as http://localhost:8000/v1: ")
    elif not api_key and asks and (variable := missing_key(deck, model)):
        api_key = _ask(f"Which environment variable holds the API key? [{variable}] ")
    if not catalog and asks:
        catalog = _ask("A file with your tools (JSON or TOML), or Enter for the example catalog: ")
    if catalog:
        catalog = os.path.relpath(Path(catalog).expanduser().absolute(), target.absolute().parent)
    return Choices(model=model, base_url=base_url, api_key=key_reference(api_key) if api_key else "", catalog=catalog)


def _default_model(deck: Helmdeck, available: AvailableModels) -> str:
    return available.sources[0].models[0] if available.sources else deck.runtime.config.model


def _ask_model(deck: Helmdeck, available: AvailableModels) -> str:
    from helmdeck_cli.setup.no_model import found_lines

    for line in found_lines(available):
        note(line)
    models = [model for source in available.sources for model in source.models]
    for number, model in enumerate(models, 1):
        note(f"  {number}. {model}")
    default = _default_model(deck, available)
    answer = _ask(f"Which model? A number or PROVIDER/MODEL [{default}] ") or default
    return models[int(answer) - 1] if answer.isdecimal() and 0 < int(answer) <= len(models) else answer


def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


# -- file and question ---------------------------------------------------------------------------------------


def _write(deck: Helmdeck, choices: Choices, target: Path) -> Any:
    """Write the file; leave what was there before if the file has mistakes.

    :raises ConfigError: with the mistakes.
    """
    from helmdeck_cli.checks.configuration import check_config
    from helmdeck_cli.config_file import replace_text
    from helmdeck_cli.setup.new_config import render
    from helmdeck_core import ConfigError, load_config

    try:
        before = target.read_bytes() if target.exists() else None
        replace_text(target, render(deck, choices))
    except OSError as exc:
        raise UsageError(f"{target}: the file cannot be written ({exc.strerror or exc})") from exc
    loaded = load_config(file=target, environ=os.environ)
    if mistakes := check_config(loaded).mistakes:
        if before is None:
            target.unlink()
        else:
            target.write_bytes(before)
        raise ConfigError(mistakes)
    return loaded


def _try(deck: Helmdeck, model: str, data: dict[str, Any], arguments: argparse.Namespace) -> int:
    """Ask the model, or plan where there is none; add the answer to the data, and print it."""
    from helmdeck_cli.setup.new_config import missing_key, plans_only
    from helmdeck_core import CallFailed, CallLimits

    if plans_only(deck, model):
        plan = wait_for(deck, "planning", lambda _: deck.aplan(REQUEST))
        data["plan"] = [step.tool for step in plan.steps]
        _show(arguments, f"planned without a model: {', '.join(data['plan'])}")
        _next(
            arguments,
            data,
            f'helmdeck plan "{REQUEST}"',
            "plans need no model; set an API key or start a model server to ask questions",
        )
        return ExitCode.OK
    ask = 'helmdeck ask "hi"'
    if variable := missing_key(deck, model):
        _next(arguments, data, ask, f"set {variable} first")
        return ExitCode.OK
    limits = CallLimits(deadline_s=QUESTION_TIMEOUT_S)
    _show(arguments, f"question  {QUESTION}")
    try:
        answer = wait_for(deck, f"calling {model}", lambda _: deck.aask(QUESTION, limits=limits))
    except CallFailed as exc:
        return _report(exc, arguments, data, ask)
    data["answer"] = answer.value
    _show(arguments, f"answer    {answer.value.strip()}")
    _next(arguments, data, ask, "")
    return ExitCode.OK


def _report(failure: CallFailed, arguments: argparse.Namespace, data: dict[str, Any], ask: str) -> int:
    """Report that the model did not answer; the file stays."""
    code = exit_code_of(failure)
    data["problem"] = str(failure)
    note(f"helmdeck: the model did not answer: {failure.headline}")
    for line in failure_lines(failure, code):
        note(line)
    is_transient = failure.failure_class.value in TRANSIENT
    _next(arguments, data, ask, "when the server can be reached" if is_transient else "after the correction")
    return ExitCode.OK if is_transient else code


def _show(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.json:
        show(text)


def _next(arguments: argparse.Namespace, data: dict[str, Any], command: str, hint: str) -> None:
    data["next"] = command
    _show(arguments, f"next      {command}")
    if hint:
        _show(arguments, hanging(" " * 10, f"({hint})"))


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``init``."""
    summary = "find a model, write helmdeck.toml, and ask a first question"
    return (Command(name="init", summary=summary, configure=configure, run=run, order=1),)
