"""``helmdeck history``: shows, deletes, exports and imports what the history of plans has stored."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli import positive_number, read_input, request_text, text_argument
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, as_json, clean, make_deck, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck
    from helmdeck_history.deck_history import DeckHistory, PlanGroup

UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def configure_caller(parser: argparse.ArgumentParser) -> None:
    """Add ``--caller`` and ``--project``."""
    parser.add_argument("--caller", metavar="NAME", default="local", help="the caller; default: local")
    configure_project(parser)


def configure_project(parser: argparse.ArgumentParser) -> None:
    """Add ``--project``."""
    parser.add_argument(
        "--project", metavar="NAME", help="the project; default: this one; * for records that belong to no project"
    )


def configure_plans(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    configure_caller(parser)
    parser.add_argument(
        "--limit", metavar="N", type=positive_number, default=25, help="number of requests to show; default: 25"
    )


def show_plans(arguments: argparse.Namespace) -> int:
    """Show the most frequent requests."""
    with make_deck(arguments) as deck:
        groups = _history(deck).plans(arguments.caller, limit=arguments.limit)
    return _show_groups(arguments, groups)


def show_defaults(arguments: argparse.Namespace) -> int:
    """Show the values of learnable inputs."""
    with make_deck(arguments) as deck:
        defaults = _history(deck).defaults(arguments.caller)
    if arguments.json:
        show_json({"caller": arguments.caller, "defaults": [each.to_dict() for each in defaults]})
    elif not defaults:
        note(f"no values of learnable inputs are stored for {_owner(arguments)}")
    else:
        rows = [
            (
                clean(each.tool),
                clean(each.input),
                as_json(each.value),
                f"{each.uses}/{each.total}",
                "yes" if each.is_applied else "",
            )
            for each in defaults
        ]
        show(table(rows, ("tool", "input", "value", "uses", "applied"), right={3}))
    return ExitCode.OK


def configure_similar(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "request",
        nargs="*",
        metavar="REQUEST",
        type=text_argument,
        help="the request in plain words; - or none reads standard input",
    )
    configure_plans(parser)
    parser.set_defaults(document=[])


def show_similar(arguments: argparse.Namespace) -> int:
    """Show the plans for similar requests."""
    request = request_text(arguments)
    with make_deck(arguments) as deck:
        groups = _history(deck).similar(request, arguments.caller, limit=arguments.limit)
    return _show_groups(arguments, groups)


def _show_groups(arguments: argparse.Namespace, groups: Sequence[PlanGroup]) -> int:
    if arguments.json:
        show_json({"caller": arguments.caller, "plans": [group.to_dict() for group in groups]})
        return ExitCode.OK
    if not groups:
        note(f"no plans are stored for {_owner(arguments)}")
        return ExitCode.OK
    has_similarity = any(group.similarity is not None for group in groups)
    rows = []
    for group in groups:
        near = (f"{group.similarity or 0:.2f}",) if has_similarity else ()
        rows.append(
            (
                group.intent_sha,
                str(group.plans),
                *near,
                _shown_time(group.time),
                _counts(group.tools),
                _counts(group.models),
            )
        )
    heads = ("request", "plans", *(("similar",) if has_similarity else ()), "last", "tools", "models")
    show(table(rows, heads, right={1, 2} if has_similarity else {1}))
    return ExitCode.OK


def _counts(counts: Any) -> str:
    return ", ".join(clean(name) + (f" ({count})" if count > 1 else "") for name, count in counts.items())


def _shown_time(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time_s))


def configure_forget(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    configure_caller(parser)
    parser.add_argument(
        "--request",
        metavar="TEXT",
        type=text_argument,
        help="only records of this request, in plain words or as its hash",
    )
    parser.add_argument("--tool", metavar="ID", help="only records with this tool")
    parser.add_argument(
        "--before", metavar="AGE", type=_seconds, help="only records older than this, such as 7d or 12h"
    )
    parser.add_argument("--fact", metavar="ID", help="only the fact with this id")
    parser.add_argument("--all", action="store_true", help="all records and facts of the caller")


def forget(arguments: argparse.Namespace) -> int:
    """Delete records and facts of a caller."""
    conditions = {"request": arguments.request, "tool": arguments.tool, "fact": arguments.fact}
    if arguments.before is not None:
        conditions["before"] = time.time() - arguments.before
    wanted = {name: value for name, value in conditions.items() if value is not None}
    if bool(wanted) == arguments.all:
        raise UsageError("give --request, --tool, --before or --fact, or --all to delete everything of the caller")
    with make_deck(arguments) as deck:
        count = _history(deck).forget(arguments.caller, **wanted)
    if arguments.json:
        show_json({"caller": arguments.caller, "deleted": count})
    else:
        show(f"{count} deleted")
    return ExitCode.OK


def _seconds(text: str) -> float:
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age such as 7d, 12h, 30m or 90s")
    return float(match[1]) * UNITS_S[match[2]]


def export(arguments: argparse.Namespace) -> int:
    """Print the records and facts of a caller, one JSON object per line."""
    with make_deck(arguments) as deck:
        rows = _history(deck).export(arguments.caller)
    if arguments.json:
        show_json({"caller": arguments.caller, "rows": rows})
    elif rows:
        show("\n".join(_line(row) for row in rows))
    else:
        note(f"nothing is stored for {_owner(arguments)}")
    return ExitCode.OK


def _line(row: Any) -> str:
    import json

    return json.dumps(row, ensure_ascii=False)


def configure_import(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="the exported lines; - or no file reads standard input"
    )
    parser.add_argument(
        "--caller", metavar="NAME", help="store all of them for this caller; default: the caller of each record"
    )
    configure_project(parser)


def load(arguments: argparse.Namespace) -> int:
    """Store exported records and facts; those with a known id are ignored."""
    import json

    name = "standard input" if arguments.file in (None, "-") else arguments.file
    lines = read_input(arguments.file).splitlines()
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as exc:
                raise UsageError(f"{name}: line {number} is not JSON: {exc}") from None
    with make_deck(arguments) as deck:
        try:
            count = _history(deck).load(rows, arguments.caller)
        except ValueError as exc:
            raise UsageError(f"{name}: {exc}") from None
    expired = max(0, len(rows) - count)
    if arguments.json:
        show_json({"imported": count, "expired": expired})
    else:
        show(f"{count} imported" + (f", {expired} left out, which have expired" if expired else ""))
    return ExitCode.OK


def _owner(arguments: argparse.Namespace) -> str:
    project = f"project {arguments.project!r}" if arguments.project else "this project"
    return f"the caller {arguments.caller!r} in {project}"


def _history(deck: Helmdeck) -> DeckHistory:
    from helmdeck_history.deck_history import history_of

    history = history_of(deck)
    if not history.is_enabled:
        raise UsageError("the history is disabled; set [history] url, such as sqlite:~/.helmdeck/history.db")
    return history


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands of the group ``history``."""
    return (
        Command(
            name="history plans",
            summary="show the most frequent requests with their tools and models",
            group_summary="show, delete, export and import the history of plans",
            configure=configure_plans,
            run=show_plans,
            order=75,
        ),
        Command(
            name="history defaults",
            summary="show frequent values of inputs, and which of them are defaults of plans",
            configure=configure_caller,
            run=show_defaults,
            order=75,
        ),
        Command(
            name="history similar",
            summary="show the plans for similar requests",
            configure=configure_similar,
            run=show_similar,
            order=75,
        ),
        Command(
            name="history forget",
            summary="delete records and facts of a caller",
            configure=configure_forget,
            run=forget,
            order=75,
        ),
        Command(
            name="history export",
            summary="print the records and facts of a caller, one JSON object per line",
            configure=configure_caller,
            run=export,
            order=75,
        ),
        Command(
            name="history import",
            summary="store exported records and facts",
            configure=configure_import,
            run=load,
            order=75,
        ),
    )
