"""No test depends on how fast the machine is: none reads a clock or sleeps. What takes time is measured in ``benchmarks``."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "tests", ROOT / "docs" / "examples", *sorted(ROOT.glob("contrib_*/*/tests")))
FILES = [path for folder in FOLDERS for path in sorted(folder.rglob("*.py"))]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "sleep"}


def clocks_read(source):
    """The lines that use a clock of ``time``, or sleep."""
    if not any(name in source for name in CLOCKS):
        return []
    return sorted(node.lineno for node in ast.walk(ast.parse(source)) if CLOCKS & used_of_time(node))


def used_of_time(node):
    """The names that a part of a program uses of ``time``."""
    if isinstance(node, ast.ImportFrom) and node.module == "time":
        return {each.name for each in node.names}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time":
        return {node.attr}
    return set()


def test_no_test_reads_a_clock_or_sleeps():
    assert len(FILES) > 200
    assert [f"{path}:{line}" for path in FILES for line in clocks_read(path.read_text(encoding="utf-8"))] == []


def test_uses_of_clocks_are_found():
    assert clocks_read("import time\nstart = time.monotonic()\nfrom time import sleep\ntime.time()") == [2, 3]
