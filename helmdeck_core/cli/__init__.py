"""The command line: finds the command, runs it, and turns what is raised into a message and an exit code.

Commands import what they need when they run, so that asking for help costs next to nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from helmdeck_core.cli import exits, options, printing
from helmdeck_core.errors import CallFailed, HelmdeckError

COMMANDS: Mapping[str, str] = {
    "plan": "turn a request into a validated plan over the catalog",
    "route": "find the one pack or pipeline that serves a request",
    "run": "run an installed pack",
    "explain": "show what would be sent for a request, and why, or what a call came to",
    "budgets": "show what each model is asked to take and to give, and why",
    "catalog show": "list everything that can be planned",
    "catalog compact": "show how the catalog is trimmed for a model",
    "catalog rank": "show how the catalog is ranked for a request",
    "decode": "read a model's answer, or say why it cannot be read",
    "plugins list": "list the plugins that are loaded, and those that are blocked",
    "plugins show": "show what one plugin contributes",
    "hooks": "print the hooks that a plugin can implement",
    "config show": "show every setting and where it came from",
    "config check": "check the configuration and report every mistake",
    "config sample": "print a helmdeck.toml to start from",
}
"""The built-in commands; the first word is the module."""

GROUPS = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; nothing is raised."""
    words = list(sys.argv[1:] if argv is None else argv)
    printing.prepare_streams()
    try:
        code = _ended(words)
        printing.flush()
        return code
    except BrokenPipeError:
        printing.forget(sys.stdout)
        return exits.BROKEN_PIPE
    except BaseException as exc:  # a plugin's SystemExit and a cancellation out of nowhere included
        return _failed(exits.folder_gone(exc) or exc, words)


def _ended(words: list[str]) -> int:
    try:
        return _run(words)
    except options.ParserExit as left:  # argparse, after it printed a help text
        return left.status


def _run(words: list[str]) -> int:
    command, rest = split(words)
    if "--version" in _before_dashes(rest):
        from helmdeck_core import __version__

        printing.show(f"helmdeck {__version__}")
        return exits.OK
    if command in COMMANDS:
        word, _, action = command.partition(" ")
        actions: options.Actions = import_module(f"{__name__}.{word}").ACTIONS
        configure, run = actions[action]
        parser = options.Parser(f"helmdeck {command}", COMMANDS[command])
        configure(parser)
        options.add_global_options(parser)
        # Options may stand among the words of a request; behind -- all words are the request's, which only the plain
        # way of parsing knows.
        return run(parser.parse_args(rest) if "--" in rest else parser.parse_intermixed_args(rest))
    if not command or command in GROUPS:
        from helmdeck_core.cli import overview

        is_asked = bool({"-h", "--help"} & set(rest))
        text = overview.group_help(command, COMMANDS) if command else overview.top_help(rest, COMMANDS)
        (printing.show if is_asked else printing.note)(text)
        return exits.OK if is_asked else exits.USAGE
    from helmdeck_core.cli import plugged

    if (group := command.partition(" ")[0]) in GROUPS:
        siblings = [name for name in COMMANDS if name.startswith(f"{group} ")]
        raise exits.UsageError(plugged.no_such_command(command, siblings))
    return plugged.run(command, rest, list(COMMANDS))


def split(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command, ``""`` for none, and all other words in their order.

    Global options may stand before the command; their values are not taken for it.
    """
    before: list[str] = []
    command = ""
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.startswith("-"):
            name = word.partition("=")[0]
            if name not in (*options.WITH_VALUE, *options.SWITCHES):
                where = f"`helmdeck {command}` and its action" if command else "the command"
                raise exits.UsageError(f"{word} is not a global option; the options of a command stand behind {where}")
            before.append(word)
            if word in options.WITH_VALUE and position < len(words):
                before.append(words[position])
                position += 1
            continue
        command = f"{command} {word}".strip()
        if command not in GROUPS:
            break
    return command, [*before, *words[position:]]


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _failed(error: BaseException, words: Sequence[str]) -> int:
    code = exits.code_of(error)
    if code in (exits.UNEXPECTED, exits.PLUGIN) and _wants_traceback(words):
        import traceback

        printing.note("".join(traceback.format_exception(error)).rstrip())
    _complain(error, code)
    try:
        if "--json" in _before_dashes(words) and not isinstance(error, exits.OutputError):
            printing.show_json({"error": exits.to_data(error)})
        printing.flush()
    except (BrokenPipeError, exits.OutputError):
        printing.forget(sys.stdout)
    return code


def _complain(error: BaseException, code: int) -> None:
    if not isinstance(error, CallFailed):
        printing.complain(exits.sentence(error))
        return
    from helmdeck_core.cli.results import failure
    from helmdeck_core.cli.tables import clean

    printing.complain(error.headline)
    for line in failure(error, code):
        printing.note(clean(line))


def _wants_traceback(words: Sequence[str]) -> bool:
    try:
        level = options.global_arguments(_before_dashes(words)).log_level
    except HelmdeckError:
        return False
    return str(level).upper() in ("DEBUG", "TRACE")
