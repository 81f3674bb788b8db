"""``helmdeck decode``: read a model's answer as a deck would, or say why it cannot be read."""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING, Any

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmdeck_core.domain.decode import Stripped
    from helmdeck_core.domain.tool_calls import MalformedCall, RecoveredCall, ToolCalls
    from helmdeck_core.errors import FailureClass

    Attempts = Sequence[tuple[str, str]]

EXCERPT = 80
"""Characters of the reasoning that are shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="the answer as it came; - or nothing reads standard input"
    )
    parser.add_argument(
        "--stop-reason", metavar="WORD", help="why the model stopped, in its provider's words, such as length"
    )
    parser.add_argument("--calls", action="store_true", help="look for tool calls that are written as text instead")
    parser.add_argument(
        "--tool", metavar="NAME", action="append", help="with --calls: a tool that was offered; may be repeated"
    )
    parser.add_argument(
        "--model", metavar="ID", help="with --calls: who answered, for forms that only some models write"
    )
    parser.add_argument("--shape", choices=("object", "list"), default="object", help="what was asked for")
    parser.add_argument("--schema", metavar="FILE", help="a JSON schema that the value has to fit")
    parser.add_argument(
        "--output-tokens",
        type=options.whole_number,
        default=0,
        metavar="N",
        help="what the provider says was generated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Decode and show the value, or the cause; beside it what was stripped, and what was tried."""
    from helmdeck_core.errors import CallFailed

    raw = options.read_input(arguments.file)
    if arguments.file is None and not raw:
        raise exits.UsageError("there is no answer to read: name a file, or give one on standard input")
    fits, problems = _fitting(arguments.schema)
    deck = options.make_deck(arguments)
    word = arguments.stop_reason
    if word is not None and deck.runtime.normalise_stop(word, "").value == "Unknown":
        printing.note(f"helmdeck: no provider is known to say {word!r}; it counts as no reason at all")
    if arguments.calls:
        text = raw.decode("utf-8", "replace")
        found = deck.tool_calls(text, tools=arguments.tool, stop_reason=word, model=arguments.model)
        return _show_calls(found, is_json=arguments.json)
    attempts: list[tuple[str, str]] = []
    stripped = deck.runtime.decoder.strip(raw.decode("utf-8", "replace"))
    type_: Any = list if arguments.shape == "list" else dict
    try:
        decoded = deck.decode(
            raw,
            type_,
            word,
            fits=fits,
            output_tokens=arguments.output_tokens,
            tried=lambda step, outcome: attempts.append((step, outcome)),
        )
    except CallFailed as exc:
        return _failed(exc, stripped, attempts, problems, is_json=arguments.json)
    reasoning = decoded.reasoning
    if arguments.json:
        facts = {"step": decoded.step, "repairs": list(decoded.repairs), "reasoning": _reasoning(reasoning, stripped)}
        printing.show_json({"value": decoded.value, **facts, "attempts": _as_data(attempts)})
        return exits.OK
    from helmdeck_core.cli.results import fact

    printing.show_json(decoded.value)
    # The facts go beside the value, so that the value alone can be piped on.
    printing.note(fact("read by", decoded.step))
    printing.note(fact("repairs", ", ".join(decoded.repairs) or "none"))
    printing.note(fact("reasoning", _stripped(reasoning, stripped)))
    return exits.OK


def _show_calls(found: ToolCalls, *, is_json: bool) -> int:
    """Show the calls, and why others are none; what is broken or cut ends with the code of an answer that is."""
    code = exits.BY_CAUSE[_cause_of(found)] if found.is_cut or found.looks_broken else exits.OK
    if is_json:
        printing.show_json(
            {
                "calls": [_call(each) for each in found.calls],
                "withheld": [_call(each) for each in found.withheld],
                "broken": [_broken(each) for each in found.broken],
                "is_cut": found.is_cut,
                "text": found.text,
                "inert": found.inert,
                "reasoning": {"length": len(found.reasoning), "excerpt": found.reasoning[:EXCERPT]},
            }
        )
        return code
    from helmdeck_core.cli.results import fact

    printing.show_json([_call(each) for each in found.calls])
    for each in found.withheld:
        printing.note(fact("withheld", f"{each.call.name} {each.call.arguments}"))
    for broken in found.broken:
        printing.note(fact("broken", f"{broken.problem} ({broken.format}): {broken.error}"))
    printing.note(fact("cut", "yes" if found.is_cut else "no"))
    printing.note(fact("inert", f"{found.inert} in examples, quotations, declarations and prose"))
    printing.note(fact("text", printing.inline_json(found.text)))
    printing.note(fact("reasoning", _stripped(found.reasoning)))
    return code


def _cause_of(found: ToolCalls) -> FailureClass:
    from helmdeck_core.errors import FailureClass

    return FailureClass.LENGTH_TRUNCATED if found.is_cut else FailureClass.CONSTRAINED_DEADLOCK


def _call(found: RecoveredCall) -> dict[str, Any]:
    call = found.call
    facts: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": dict(found.args), "format": found.format}
    if found.repairs:
        facts["repairs"] = list(found.repairs)
    if found.corrected_from is not None:
        facts["corrected_from"] = found.corrected_from
    return facts


def _broken(broken: MalformedCall) -> dict[str, Any]:
    import attrs

    return attrs.asdict(broken)


def _fitting(path: str | None) -> tuple[Callable[[Any], bool] | None, list[str]]:
    """Whether a value fits the schema in a file, and what was wrong with the first one that does not."""
    problems: list[str] = []
    if path is None:
        return None, problems
    from helmdeck_core.json_schema.validate import schema_problems

    try:
        schema = options.read_json(options.read_input(path))
    except ValueError as exc:
        raise exits.UsageError(f"{path}: the schema is not JSON ({exc})") from exc
    if not isinstance(schema, dict):
        raise exits.UsageError(f"{path}: a schema is a JSON object")

    def fits(value: Any) -> bool:
        found = schema_problems(schema, value)
        if found and not problems:
            problems.extend(found)
        return not found

    return fits, problems


def _reasoning(reasoning: str, stripped: Stripped) -> dict[str, Any]:
    return {"length": len(reasoning), "excerpt": reasoning[:EXCERPT], "tags": list(stripped.found)}


def _as_data(attempts: Attempts) -> list[dict[str, str]]:
    return [{"step": step, "outcome": outcome} for step, outcome in attempts]


def _stripped(reasoning: str, stripped: Stripped | None = None) -> str:
    if not reasoning:
        return f"none was closed ({stripped.found[-1]} was opened)" if stripped and stripped.is_unclosed else "none"
    rest = "..." if len(reasoning) > EXCERPT else ""
    return f"{len(reasoning):,} characters were stripped: {' '.join(reasoning[:EXCERPT].split())}{rest}"


def _failed(
    exc: BaseException, stripped: Stripped, attempts: Attempts, problems: Sequence[str], *, is_json: bool
) -> int:
    from helmdeck_core.errors import CallFailed

    assert isinstance(exc, CallFailed)
    code = exits.code_of(exc)
    printing.complain(exc.headline)
    if is_json:
        data = {"reasoning": _reasoning(stripped.reasoning, stripped), "attempts": _as_data(attempts)}
        printing.show_json({"error": exits.to_data(exc), **data, "problems": list(problems)})
        return code
    from helmdeck_core.cli.results import fact, failure

    for line in failure(exc, code):
        printing.note(line)
    if not exc.excerpt:
        printing.note(fact("answer", f"{exc.raw_length:,} bytes"))
    printing.note(fact("reasoning", _stripped(stripped.reasoning, stripped)))
    for outcome, group in itertools.groupby(attempts, key=lambda attempt: attempt[1]):
        printing.note(fact("tried", f"{', '.join(step for step, _ in group)}: {outcome}"))
    for problem in problems:
        printing.note(fact("schema", problem))
    return code


ACTIONS: options.Actions = {"": (configure, run)}
