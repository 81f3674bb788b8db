"""The user's data directory."""

from pathlib import Path

from helmdeck_core.directories import data_directory


def test_variable_moves_the_data_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    assert data_directory() == tmp_path / "data"
    assert not data_directory().exists()


def test_data_directory_is_in_the_home_directory_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HELMDECK_DATA_DIR", "")
    assert data_directory() == tmp_path / ".helmdeck"
    monkeypatch.setenv("HELMDECK_DATA_DIR", "~/elsewhere")
    assert data_directory() == tmp_path / "elsewhere"


def test_only_one_module_computes_the_data_directory():
    root = Path(__file__).resolve().parents[2]
    files = [path for folder in ("helmdeck_core", "plugins", "contrib_packs") for path in (root / folder).rglob("*.py")]
    marks = ('"HELMDECK_DATA_DIR"', "XDG_DATA_HOME", ".local/share")
    own = [path for path in files if "tests" not in path.relative_to(root).parts]
    found = {path.name for path in own for mark in marks if mark in path.read_text(encoding="utf-8")}
    assert found == {"directories.py", "load.py", "command_contract.py"}, (
        "load.py lists the variable, the other sets it"
    )
