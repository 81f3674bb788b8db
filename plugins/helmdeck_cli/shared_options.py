"""Options that several commands share; ``inputs`` has those with which a command reads its input."""

from __future__ import annotations

import argparse

from helmdeck_cli.inputs import add_catalog, add_request, text_argument, whole_number

DEFAULT_CALLER = "local"


def add_model(parser: argparse.ArgumentParser, purpose: str, *, default: str = "the configured model") -> None:
    """Add ``--model``, in short ``-m``.

    :param purpose: what the model is for, such as ``the planning model``.
    :param default: the model without the option, for the help; empty if there is none.

    >>> import argparse
    >>> from helmdeck_cli import add_model
    >>> parser = argparse.ArgumentParser()
    >>> add_model(parser, "the model that writes")
    >>> parser.parse_args(["-m", "acme/large"]).model
    'acme/large'
    """
    text = f"{purpose}; default: {default}" if default else purpose
    parser.add_argument("-m", "--model", metavar="PROVIDER/MODEL", help=text)


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
    parser.add_argument(
        "--context", metavar="TEXT", type=text_argument, default="", help="additional context for the model"
    )
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
