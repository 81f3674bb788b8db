"""Plugins that are single files: ``[plugins] files`` and ``--plugin``, without a distribution and an installation."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType


def plugin_name(path: Path) -> str:
    """Return the name of the plugin in a file: that of the file, which no installed plugin has."""
    return path.name


def load_file(path: Path) -> ModuleType:
    """Return the module of a file. It is executed once per process, and again after a change.

    :raises Exception: what the file raises, and ``ImportError`` if it is not a Python file.
    """
    if path.suffix != ".py":
        raise ImportError("not a file that ends in .py")
    status = path.stat()
    identity = f"{path.absolute()}\0{status.st_mtime_ns}\0{status.st_size}"
    name = f"helmdeck_plugin_file_{hashlib.sha256(identity.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look for the module of a class here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def line_in(path: Path, error: BaseException) -> int | None:
    """Return the last line of a file that an error went through; ``None`` if it is unknown."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None
