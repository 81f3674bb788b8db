"""Projects: the history of the command line is that of the project, unless the configuration shares it."""

import json

import pytest

from helmdeck_core.config.project import project_name
from helmdeck_history import Fact
from helmdeck_testing import make_deck
from tests.cli_support import Cli, leave_the_machine

PHOTO = ("plan", "--default", "style=photo", "generate an image of a boat")
SHARED = '[history]\nproject = "*"\n'
OURS = '[history]\nproject = "ours"\n'


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setattr("helmdeck_core.cli.options.DEFAULT_HISTORY", "sqlite:")
    return Cli(capsys)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Change to the folder of a project."""

    def change(name, config="", mark=None):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        if config:
            (folder / "helmdeck.toml").write_text(config)
        if mark:
            (folder / mark).mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        return folder

    return change


def planned(cli, *words):
    """The number of plans in the history."""
    return sum(group["plans"] for group in json.loads(cli("history", "plans", "--json", *words).out)["plans"])


def test_command_line_learns_nothing_from_another_project(cli, project):
    project("shop", 'model = "local/lexical"\n')
    for _ in range(3):
        assert cli(*PHOTO).code == 0
    assert "yes" in cli("history", "defaults").out
    project("blog")
    assert '"photo"' not in cli("explain", "draw a hero image").out and planned(cli) == 0
    assert cli("history", "defaults").err.endswith("for the caller 'local' in this project\n")
    project("shop")
    assert 'defaults: {"style": "photo"}' in cli("explain", "draw a hero image").out


def test_folders_below_the_root_of_a_project_share_its_history(cli, project):
    project("shop", mark=".git")
    assert cli(*PHOTO).code == 0
    folder = project("shop/backend")
    assert planned(cli) == 1
    (folder / "helmdeck.toml").write_text("")
    assert planned(cli) == 0, "a configuration file is in the root of its own project"


def test_projects_of_the_same_name_are_separate(tmp_path):
    one, two = project_name(tmp_path / "a" / "shop"), project_name(tmp_path / "b" / "shop")
    assert one != two and one.startswith("shop-") and two.startswith("shop-")


def test_history_is_shared_where_it_is_configured(cli, project):
    project("shop", SHARED)
    assert cli(*PHOTO).code == 0
    project("blog", SHARED)
    assert planned(cli) == 1
    project("blog", OURS)
    assert planned(cli) == 0
    assert cli(*PHOTO).code == 0
    project("shop", OURS)
    assert planned(cli) == 1


def test_records_without_a_project_can_be_read_and_moved_into_one(cli, project, tmp_path):
    project("old", SHARED)
    assert cli(*PHOTO).code == 0
    project("new")
    assert (planned(cli), planned(cli, "--project", "*")) == (0, 1)
    (tmp_path / "rows.jsonl").write_text(cli("history", "export", "--project", "*").out)
    assert cli("history", "forget", "--all", "--project", "*").out == "1 deleted\n"
    assert cli("history", "import", str(tmp_path / "rows.jsonl")).out == "1 imported\n"
    assert (planned(cli), planned(cli, "--project", "*")) == (1, 0)


def test_store_of_a_url_belongs_to_no_project_unless_one_is_named(tmp_path):
    def deck_of(**history):
        return make_deck(config={"history": {"url": f"sqlite:{tmp_path}/history.db", **history}})

    with deck_of() as none, deck_of(project="shop") as shop, deck_of(project="*") as shared:
        none.plan("generate an image of a boat")
        none.history.flush()
        assert len(shared.history.records()) == 1 and not shop.history.records()
        shop.plan("draft a blog post about boats")
        shop.history.add_fact(Fact(id="1", caller="local", text="tea", time=0, expires=2**40))
        assert [each.caller for each in (*shop.history.records(), *shop.history.facts())] == ["local"] * 2
        assert [row["caller"] for row in shop.history.export()] == ["local"] * 2
        assert len(none.history.records()) == 1 and not none.history.facts()
        assert (shop.history.forget(), none.history.forget()) == (2, 1)
