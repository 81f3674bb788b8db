"""Whether the metadata of installed distributions has to be read for plugins."""

import sys
import zipfile

import pytest

from helmdeck_core.hooks.installed import may_have_plugins


@pytest.mark.parametrize(
    ("name", "entry_points", "expected"),
    [
        ("acme-1.0.dist-info", "[console_scripts]\nhelmdeck = acme:main\n", False),
        ("acme-1.0.dist-info", "[console_scripts]\nacme = acme:main\n[helmdeck]\nacme = acme\n", True),
        ("Acme.EGG-INFO", "[helmdeck]\nacme = acme\n", True),
        ("acme", "[helmdeck]\nacme = acme\n", False),
    ],
)
def test_only_metadata_with_a_section_of_the_group_has_plugins(tmp_path, name, entry_points, expected):
    (tmp_path / name).mkdir()
    (tmp_path / name / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    assert may_have_plugins([str(tmp_path)], "helmdeck") is expected


def test_folder_that_does_not_exist_has_no_plugins(tmp_path):
    assert not may_have_plugins([str(tmp_path / "missing")], "helmdeck")


def test_archive_may_have_plugins(tmp_path):
    with zipfile.ZipFile(tmp_path / "acme.zip", "w"):
        pass
    assert may_have_plugins([str(tmp_path / "acme.zip")], "helmdeck")


def test_another_finder_of_distributions_may_find_plugins(tmp_path, monkeypatch):
    class Finder:
        find_distributions = find_spec = staticmethod(lambda *_: None)

    assert not may_have_plugins([str(tmp_path)], "helmdeck")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert may_have_plugins([str(tmp_path)], "helmdeck")
