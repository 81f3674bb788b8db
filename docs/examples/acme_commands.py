"""Two commands: one in a group of its own, one that joins the group of a built-in command."""

from helmdeck_cli import add_catalog, whole_number
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, make_deck, note, show, show_json, table


def configure_sync(parser):
    """Add the options."""
    parser.add_argument("--limit", type=whole_number, default=3, metavar="N", help="packs to synchronise, default 3")
    add_catalog(parser)


def sync(arguments):
    """Print the first packs of the catalog; stands for work of your own."""
    if arguments.limit == 0:
        raise UsageError("--limit must be at least 1")
    packs = make_deck(arguments).catalog.packs[: arguments.limit]
    if arguments.json:
        show_json({"synchronised": [pack.id for pack in packs]})
    else:
        show(table([(pack.id, pack.description) for pack in packs], ("pack", "description"), clipped={1}))
        note(f"{len(packs)} packs synchronised")
    return ExitCode.OK


def stats(arguments):
    """Count the entries of the catalog."""
    catalog = make_deck(arguments).catalog
    rows = [("packs", f"{len(catalog.packs)}"), ("pipelines", f"{len(catalog.pipelines)}")]
    show(table(rows, ("kind", "entries"), right={1}))
    return ExitCode.OK


@hookimpl
def helmdeck_commands():
    """Two commands."""
    return [
        Command(
            name="acme sync",
            summary="synchronise packs with Acme",
            group_summary="commands of Acme",
            configure=configure_sync,
            run=sync,
        ),
        Command(name="catalog stats", summary="count the catalog entries", configure=add_catalog, run=stats),
    ]
