"""The message for a first question without a configured model: what was found on this machine, and the shortest ways on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from helmdeck_cli.setup.available_models import AvailableModels
from helmdeck_cli.sockets import is_loopback
from helmdeck_core import ProviderSpec
from helmdeck_core.cli import labelled

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

MAX_SHOWN = 4
MAX_QUESTION_CHARS = 60

INIT = "helmdeck init"


def names_no_model(deck: Helmdeck) -> bool:
    """Whether no setting names a model, so that the default is a planner without a model, which answers no questions."""
    return ("model",) not in deck.runtime.origins


def no_model_text(deck: Helmdeck, available: AvailableModels, question: str) -> str:
    """Return the message.

    :param question: the question, for commands that can be pasted.
    """
    shown = question if len(question) <= MAX_QUESTION_CHARS and question.isprintable() else "hi"
    lines = ["no model is configured"]
    lines += _block("found", found_lines(available))
    lines += _block("next", _ways(deck, available, shlex.quote(shown)))
    return "\n".join(lines)


def found_lines(available: AvailableModels) -> Iterator[str]:
    """Yield what was found on this machine, one line each."""
    found = [*map(str, available.servers), *map(str, available.hosted)]
    yield from found[:MAX_SHOWN]
    if len(found) > MAX_SHOWN:
        yield f"{len(found) - MAX_SHOWN} more; `helmdeck models` lists all"
    if not found:
        ports = ", ".join(sorted({str(urlsplit(url).port) for url in available.called}, key=int))
        yield f"no API key of a provider in the environment, no model server on this machine (ports {ports})"


def _ways(deck: Helmdeck, available: AvailableModels, question: str) -> Iterator[str]:
    if available.sources:
        model = available.sources[0].models[0]
        yield f"helmdeck ask -m {model} {question}"
        yield f"{INIT}  (writes the model to helmdeck.toml)"
        yield f"export HELMDECK_MODEL={model}"
        return
    specs = [owned.value for owned in deck.runtime.contributed(ProviderSpec).values()]
    hosted = next((each for each in specs if each.api_key and each.example_model), None)
    if hosted is not None and hosted.api_key is not None:
        variable = hosted.api_key.removeprefix("env:")
        yield f"export {variable}=...; helmdeck ask -m {hosted.name}/{hosted.example_model} {question}"
    local = next((each for each in specs if is_loopback(urlsplit(each.base_url or "").hostname or "")), None)
    if local is not None:
        yield f"start a server ({local.summary}, or another one); {INIT} finds it"
    yield f"{INIT}  (at most three questions; writes helmdeck.toml)"


def _block(label: str, lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield labelled("" if number else label, line)
