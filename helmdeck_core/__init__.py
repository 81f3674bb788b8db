"""Dependable structured, tool-selecting answers from a mixed fleet of LLMs.

``__init__.pyi`` lists the public names with the modules that define them. A name is imported when it is first used, so
``import helmdeck_core`` costs next to nothing.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"


@cache
def _modules() -> dict[str, str]:
    """The defining module of each public name, read from lines such as ``from helmdeck_core.x import Y as Y``."""
    lines = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    imports = [line.split() for line in lines if line.startswith("from ")]
    return {words[3]: words[1] for words in imports}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_modules())
    if name.startswith("__") or name not in _modules():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_modules()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})
