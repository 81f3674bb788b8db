"""``helmdeck decode``: read a model's answer as a deck would, or say why it cannot be read."""

from __future__ import annotations

import argparse

from helmdeck_core.cli import exits, options, printing

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


def run(arguments: argparse.Namespace) -> int:
    """Decode and show the value, or the cause."""
    from helmdeck_core.errors import CallFailed

    raw = options.read_input(arguments.file)
    if arguments.file is None and not raw:
        raise exits.UsageError("there is no answer to read: name a file, or give one on standard input")
    deck = options.make_deck(arguments)
    word = arguments.stop_reason
    if word is not None and deck.runtime.normalise_stop(word, "").value == "Unknown":
        printing.note(f"helmdeck: no provider is known to say {word!r}; it counts as no reason at all")
    try:
        decoded = deck.decode(raw, dict, word)
    except CallFailed as exc:
        return _failed(
            exc, deck.runtime.decoder.strip(raw.decode("utf-8", "replace")).reasoning, is_json=arguments.json
        )
    reasoning = decoded.reasoning
    if arguments.json:
        stripped = {"length": len(reasoning), "excerpt": reasoning[:EXCERPT]}
        facts = {"step": decoded.step, "repairs": list(decoded.repairs), "reasoning": stripped}
        printing.show_json({"value": decoded.value, **facts})
        return exits.OK
    from helmdeck_core.cli.results import fact

    printing.show_json(decoded.value)
    # The facts go beside the value, so that the value alone can be piped on.
    printing.note(fact("read by", decoded.step))
    printing.note(fact("repairs", ", ".join(decoded.repairs) or "none"))
    printing.note(fact("reasoning", _stripped(reasoning)))
    return exits.OK


def _stripped(reasoning: str) -> str:
    if not reasoning:
        return "none"
    rest = "..." if len(reasoning) > EXCERPT else ""
    return f"{len(reasoning):,} characters were stripped: {' '.join(reasoning[:EXCERPT].split())}{rest}"


def _failed(exc: BaseException, reasoning: str, *, is_json: bool) -> int:
    from helmdeck_core.errors import CallFailed

    assert isinstance(exc, CallFailed)
    code = exits.code_of(exc)
    printing.complain(exc.headline)
    if is_json:
        stripped = {"length": len(reasoning), "excerpt": reasoning[:EXCERPT]}
        printing.show_json({"error": exits.to_data(exc), "reasoning": stripped})
        return code
    from helmdeck_core.cli.results import fact, failure

    for line in failure(exc, code):
        printing.note(line)
    printing.note(
        fact("answer", f"{exc.raw_length:,} bytes" + (f", starts with: {exc.excerpt}" if exc.excerpt else ""))
    )
    printing.note(fact("reasoning", _stripped(reasoning)))
    return code


ACTIONS: options.Actions = {"": (configure, run)}
