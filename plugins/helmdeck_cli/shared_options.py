"""Options that several commands share, and the rows of a ranking that several commands print."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from helmdeck_cli.inputs import add_catalog, add_request, whole_number

if TYPE_CHECKING:
    from helmdeck_core import Ranking, Score

DEFAULT_CALLER = "local"

MAX_MATCHES = 3
"""Matched terms that are shown of an entry."""


def add_model(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add ``--model``.

    :param purpose: what the model is for, such as ``the planning model``.
    """
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help=f"{purpose}; default: the configured model")


def add_caller(parser: argparse.ArgumentParser) -> None:
    """Add ``--caller``."""
    parser.add_argument(
        "--caller",
        metavar="NAME",
        default=DEFAULT_CALLER,
        help=f"the caller whose history applies; default: {DEFAULT_CALLER}",
    )


def add_model_call(parser: argparse.ArgumentParser, purpose: str, defaults: str) -> None:
    """Add the options of a command that sends a request over the catalog to a model.

    :param purpose: what the model is for.
    :param defaults: what the default values are for.
    """
    add_request(parser)
    add_model(parser, purpose)
    parser.add_argument("--context", metavar="TEXT", default="", help="additional context for the model")
    parser.add_argument(
        "--default",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help=f"a default value for {defaults} named KEY, as JSON or a string; may be repeated",
    )
    add_caller(parser)
    add_catalog(parser)


def add_ranking(parser: argparse.ArgumentParser, purpose: str, top: int) -> None:
    """Add the options of a command that ranks the catalog for a request without calling a model.

    :param purpose: what the model is for.
    :param top: number of entries that are shown by default.
    """
    add_request(parser)
    add_model(parser, purpose)
    parser.add_argument(
        "--top", metavar="N", type=whole_number, default=top, help=f"entries to show; default: {top}; 0: all"
    )
    add_catalog(parser)


def ranking_rows(
    ranking: Ranking, top: int, fact: Callable[[Score], str], matches: int | None = MAX_MATCHES
) -> Sequence[tuple[str, ...]]:
    """The ``top`` best entries as rows of a table: place, id, score, a fact, matched terms.

    :param fact: returns the text of the fourth column.
    :param matches: number of matched terms per entry; ``None`` is all.
    """
    rows = []
    for place, score in enumerate(ranking.scores[: top if top > 0 else None], 1):
        shown = score.matched[:matches]
        more = len(score.matched) - len(shown)
        matched = ", ".join(shown) + (f" (+{more})" if more else "")
        rows.append((str(place), score.id, f"{score.score:.3f}", fact(score), matched))
    return rows


def rest_text(ranking: Ranking, shown: int) -> str:
    """How many entries are not shown; empty if all are."""
    rest = len(ranking.scores) - shown
    return f"{rest} more; --top 0 shows all" if rest > 0 else ""
