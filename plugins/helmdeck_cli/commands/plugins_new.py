"""``helmdeck plugins new``: creates a distribution for a plugin, with tests that pass."""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, labelled, show, show_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    from helmdeck_cli.scaffold.render import KINDS

    parser.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=f"one of {', '.join(KINDS)}")
    parser.add_argument(
        "name",
        metavar="NAME",
        help="the name of the plugin: lower-case letters, digits and hyphens, such as tide-tables",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=".",
        help="the parent folder; default: the current folder",
    )
    parser.add_argument(
        "--file", action="store_true", help="create a single file, to start with, instead of a distribution"
    )


def run(arguments: argparse.Namespace) -> int:
    """Create the files; an existing file or folder is never changed."""
    from helmdeck_cli.scaffold.render import NAME, distribution_name, render, render_file
    from helmdeck_core import list_plugins

    kind, name = arguments.kind, arguments.name
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a name for a plugin: use at most 24 lower-case letters, digits and single hyphens"
        )
    found = next((info for info in list_plugins().plugins.infos if info.name == name), None)
    if found is not None:
        raise UsageError(f"there is a plugin of the name {name!r} already ({found.source}); choose another one")
    parent = Path(arguments.folder)
    if not parent.is_dir():
        raise UsageError(f"--folder {arguments.folder}: there is no such directory")
    if arguments.file:
        path, text = render_file(kind, name)
        return _create_file(arguments, parent / path, text)
    target = parent / distribution_name(kind, name)
    files = render(kind, name)
    with _creating(target):
        target.mkdir()
        with _removed_after_failure(target):
            for path, text in files.items():
                place = target / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
    if arguments.json:
        show_json({"folder": str(target), "files": list(files)})
        return ExitCode.OK
    show(f"created {target}")
    show()
    for path in files:
        show(f"  {path}")
    show()
    show(labelled("install", f"pip install -e '{target}[dev]'"))
    show(labelled("test", f"python -m pytest {target}"))
    show(labelled("check", f"helmdeck plugins show {name}"))
    return ExitCode.OK


@contextlib.contextmanager
def _creating(target: Path) -> Iterator[None]:
    """Report in words why a file or folder cannot be created."""
    try:
        yield
    except FileExistsError:
        raise UsageError(f"{target} exists already; remove it or choose another name") from None
    except OSError as exc:
        raise UsageError(f"{target} cannot be written: {exc.strerror}") from exc


@contextlib.contextmanager
def _removed_after_failure(target: Path) -> Iterator[None]:
    """Remove what was written of a file or folder, for instance where the disk is full: a second try would find it."""
    try:
        yield
    except BaseException:
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink()
        raise


def _create_file(arguments: argparse.Namespace, target: Path, text: str) -> int:
    with _creating(target), target.open("x", encoding="utf-8") as file, _removed_after_failure(target):
        file.write(text)
        file.flush()
    if arguments.json:
        show_json({"file": str(target)})
        return ExitCode.OK
    show(f"created {target}")
    show()
    show(labelled("try", f"helmdeck plugins show {target.name} --plugin {target}"))
    show(labelled("use", f'[plugins] files = ["{target.name}"] in helmdeck.toml'))
    show(labelled("package", f"helmdeck plugins new {arguments.kind} {arguments.name}"))
    return ExitCode.OK


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``plugins new``."""
    return (
        Command(
            name="plugins new",
            summary="create a file or a distribution for a plugin of your own",
            configure=configure,
            run=run,
            order=82,
        ),
    )
