"""Examples of public names: every example in a docstring is executed."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.append(str(DOCS))
names_pages = importlib.import_module("public_names_pages")
PACKAGES = ["helmdeck_core", "helmdeck_core.cli", "helmdeck_testing", *names_pages.packages().values()]


@pytest.mark.parametrize("name", PACKAGES)
def test_examples_of_public_names_print_what_they_show(name, tmp_path, monkeypatch):
    package = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    printed = []
    for public in names_pages.public_names(package):
        text = getattr(package, public).__doc__ or ""
        runner.run(doctest.DocTestParser().get_doctest(text, {}, public, None, 0), out=printed.append)
    assert not printed, "".join(printed)
