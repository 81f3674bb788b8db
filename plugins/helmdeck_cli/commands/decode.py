"""``helmdeck decode``: decodes a model response as a deck does, or shows why it cannot be decoded."""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING, Any

from helmdeck_cli.inputs import in_utf8, not_text, read_input, read_object, whole_number
from helmdeck_cli.shared_options import add_model
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    error_data,
    exit_code_of,
    failure_lines,
    inline_json,
    labelled,
    make_deck,
    note,
    show_error,
    show_json,
    show_traceback,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmdeck_core import CallFailed, RecoveredCall, Stripped, ToolCalls

    Attempts = Sequence[tuple[str, str]]

EXCERPT_CHARS = 80
"""Characters of the reasoning that are shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="the raw response; - or no file reads standard input")
    parser.add_argument(
        "--stop-reason", metavar="WORD", help="the stop reason as the provider reports it, such as length"
    )
    parser.add_argument(
        "--calls", action="store_true", help="find tool calls that the model wrote as text, instead of a value"
    )
    parser.add_argument(
        "--tool", metavar="NAME", action="append", help="with --calls: a tool of the request; may be repeated"
    )
    add_model(parser, "with --calls: the model, for formats that only some models use", default="")
    parser.add_argument(
        "--shape", choices=("object", "list"), default="object", help="the requested JSON type; default: object"
    )
    parser.add_argument("--schema", metavar="FILE", help="a JSON Schema that the value must match")
    parser.add_argument(
        "--output-tokens",
        type=whole_number,
        default=0,
        metavar="N",
        help="the number of output tokens that the provider reports",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the value, or the cause of the failure; the details go to standard error."""
    from helmdeck_core import CallFailed

    if not arguments.calls and (arguments.tool or arguments.model):
        raise UsageError(f"{'--tool' if arguments.tool else '--model'} is for tool calls; add --calls")
    raw = in_utf8(read_input(arguments.file))
    if arguments.file is None and not raw:
        raise UsageError("there is no response to decode; name a file or use standard input")
    fits, problems = _schema_check(arguments.schema)
    deck = make_deck(arguments)
    stop_reason = arguments.stop_reason
    if stop_reason is not None and deck.runtime.normalise_stop(stop_reason, "").value == "Unknown":
        near = deck.runtime.stop_reasons.near(stop_reason)
        hint = f" (did you mean {near!r}?)" if near else " (known are stop, length, tool_calls and others)"
        note(f"helmdeck: warning: unknown stop reason {stop_reason!r}{hint}; it is treated as missing")
    if arguments.calls:
        text = raw.decode("utf-8", "replace")
        found = deck.tool_calls(text, tools=arguments.tool, stop_reason=stop_reason, model=arguments.model)
        if not found.calls:
            _reject_binary(arguments.file, raw)
        return _show_calls(found, is_json=arguments.json)
    attempts: list[tuple[str, str]] = []
    stripped = deck.runtime.decoder.strip(raw.decode("utf-8", "replace"))
    type_: Any = list if arguments.shape == "list" else dict
    try:
        decoded = deck.decode(
            raw,
            type_,
            stop_reason,
            fits=fits,
            output_tokens=arguments.output_tokens,
            tried=lambda step, outcome: attempts.append((step, outcome)),
        )
    except CallFailed as exc:
        _reject_binary(arguments.file, raw)
        # Undecodable bytes around a value do not matter. Within one, the decoder can only report malformed JSON.
        return _show_failure(exc, stripped, attempts, problems, not_text(raw), is_json=arguments.json)
    reasoning = decoded.reasoning
    if arguments.json:
        facts = {
            "step": decoded.step,
            "repairs": list(decoded.repairs),
            "reasoning": _reasoning_data(reasoning, stripped),
        }
        show_json({"value": decoded.value, **facts, "attempts": _attempts_data(attempts)})
        return ExitCode.OK
    show_json(decoded.value)
    # The details go to standard error, so that the value alone can be piped.
    note(labelled("decoded by", decoded.step))
    note(labelled("repairs", ", ".join(decoded.repairs) or "none"))
    note(labelled("reasoning", _reasoning_text(reasoning, stripped)))
    return ExitCode.OK


def _reject_binary(path: str | None, raw: bytes) -> None:
    if b"\0" in raw:
        raise UsageError(f"{path or 'standard input'}: {not_text(raw)}")


def _show_calls(found: ToolCalls, *, is_json: bool) -> int:
    """Print the tool calls; malformed or truncated ones end with the exit code of such a response."""
    code = ExitCode.OK
    if found.is_truncated or found.looks_broken:
        code = ExitCode.LENGTH_TRUNCATED if found.is_truncated else ExitCode.CONSTRAINED_DEADLOCK
    if is_json:
        import attrs

        show_json(
            {
                "calls": [_call_data(each) for each in found.calls],
                "withheld": [_call_data(each) for each in found.withheld],
                "broken": [attrs.asdict(each) for each in found.broken],
                "is_truncated": found.is_truncated,
                "text": found.text,
                "inert": found.inert,
                "reasoning": {"length": len(found.reasoning), "excerpt": found.reasoning[:EXCERPT_CHARS]},
            }
        )
        return code
    show_json([_call_data(each) for each in found.calls])
    for each in found.withheld:
        note(labelled("withheld", f"{each.call.name} {each.call.arguments}"))
    for malformed in found.broken:
        note(labelled("malformed", f"{malformed.problem} ({malformed.format}): {malformed.error}"))
    note(labelled("truncated", "yes" if found.is_truncated else "no"))
    note(labelled("inert", f"{found.inert} in examples, quotations, declarations and prose"))
    note(labelled("text", inline_json(found.text)))
    note(labelled("reasoning", _reasoning_text(found.reasoning)))
    return code


def _call_data(found: RecoveredCall) -> dict[str, Any]:
    call = found.call
    data: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": dict(found.args), "format": found.format}
    if found.repairs:
        data["repairs"] = list(found.repairs)
    if found.corrected_from is not None:
        data["corrected_from"] = found.corrected_from
    return data


def _schema_check(path: str | None) -> tuple[Callable[[Any], bool] | None, list[str]]:
    """Return a check against the schema in a file, and a list that receives the problems of the first value that fails."""
    problems: list[str] = []
    if path is None:
        return None, problems
    from helmdeck_core import schema_mistake, schema_problems

    schema = read_object(path)
    if mistake := schema_mistake(schema, is_trusted=True):
        raise UsageError(f"{path}: the schema {mistake}")

    def fits(value: Any) -> bool:
        found = schema_problems(schema, value)
        if found and not problems:
            problems.extend(found)
        return not found

    return fits, problems


def _reasoning_data(reasoning: str, stripped: Stripped) -> dict[str, Any]:
    return {"length": len(reasoning), "excerpt": reasoning[:EXCERPT_CHARS], "tags": list(stripped.found)}


def _attempts_data(attempts: Attempts) -> list[dict[str, str]]:
    return [{"step": step, "outcome": outcome} for step, outcome in attempts]


def _reasoning_text(reasoning: str, stripped: Stripped | None = None) -> str:
    if not reasoning:
        return f"none ({stripped.found[-1]} was never closed)" if stripped and stripped.is_unclosed else "none"
    ellipsis = "..." if len(reasoning) > EXCERPT_CHARS else ""
    return f"{len(reasoning):,} characters stripped: {' '.join(reasoning[:EXCERPT_CHARS].split())}{ellipsis}"


def _show_failure(
    exc: CallFailed, stripped: Stripped, attempts: Attempts, problems: Sequence[str], encoding: str, *, is_json: bool
) -> int:
    code = exit_code_of(exc)
    show_traceback(exc)
    show_error(exc.headline)
    if is_json:
        data = {"reasoning": _reasoning_data(stripped.reasoning, stripped), "attempts": _attempts_data(attempts)}
        problems = [*problems, *([encoding] if encoding else ())]
        show_json({"error": error_data(exc), **data, "problems": problems})
        return code
    for line in failure_lines(exc, code):
        note(line)
    if encoding:
        note(labelled("encoding", encoding))
    if not exc.excerpt:
        note(labelled("response", f"{exc.raw_length:,} bytes"))
    note(labelled("reasoning", _reasoning_text(stripped.reasoning, stripped)))
    for outcome, group in itertools.groupby(attempts, key=lambda attempt: attempt[1]):
        note(labelled("tried", f"{', '.join(step for step, _ in group)}: {outcome}"))
    for problem in problems:
        note(labelled("schema", problem))
    return code


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``decode``."""
    summary = "decode a model response, or show why it cannot be decoded"
    return (Command(name="decode", summary=summary, configure=configure, run=run, order=70),)
