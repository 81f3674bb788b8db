"""Exports the public names of a package from its stub, each imported when it is first used.

``__init__.pyi`` of the package has one line such as ``from helmdeck_x.y import Name as Name`` for each public name: type
checkers read it as a stub, and this module reads it at run time. Importing the package then costs next to nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module


def export_from_stub(package: str, init_file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose public names its stub lists.

    ``__all__`` is one of the names that ``__getattr__`` answers.

    :param package: the name of the package, ``__name__``.
    :param init_file: the path of its ``__init__.py``, ``__file__``.
    """

    @cache
    def modules() -> dict[str, str]:
        # pathlib would be most of the import of a package, during which Ctrl-C prints a traceback.
        with open(f"{os.path.splitext(init_file)[0]}.pyi", encoding="utf-8") as stub:  # noqa: PTH122, PTH123
            imports = [line.split() for line in stub if line.startswith("from ")]
        return {words[3]: words[1] for words in imports}

    def get(name: str) -> object:
        if name == "__all__":
            return sorted(modules())
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules()})

    return get, names
