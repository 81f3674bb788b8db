"""Tests of the core that hold for every transport, for modules that run them over this one."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def transport_tests_of(module: ModuleType) -> Mapping[str, Any]:
    """Return the names of a test module, without its tests that do not ask for the fixture ``transport``."""
    whole = _requests_transport(module)
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and (whole or not name.startswith("test_") or _requests_transport(value))
    }


def _requests_transport(marked: object) -> bool:
    """Whether a module or a test is marked with ``usefixtures("transport")``."""
    marks = getattr(marked, "pytestmark", ())
    return any("transport" in mark.args for mark in (marks if isinstance(marks, (list, tuple)) else [marks]))
