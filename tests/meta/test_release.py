"""What is released fits together: versions, ranges, the changelog, pinned actions. ``.ci/release`` builds and uses it."""

import itertools
import re
import tomllib
from pathlib import Path

import pytest

import helmdeck_core
from helmdeck_cli.scaffold.render import compatible_range
from tests.case_support import each_case

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; pip install pyyaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECTS = [
    tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    for path in [ROOT / "pyproject.toml", *sorted(ROOT.glob("contrib_*/*/pyproject.toml"))]
]
VERSION = helmdeck_core.__version__


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def names_of(requirements):
    return {re.split(r"[\[<>=!~ ;]", each)[0].lower() for each in requirements}


def test_all_distributions_have_the_version_and_contribs_require_it():
    assert {project["version"] for project in PROJECTS} == {VERSION}
    assert {project["dependencies"][0] for project in PROJECTS[1:]} == {compatible_range(VERSION)}


def test_files_that_name_the_version_agree():
    assert re.search(r"^version: (.*)$", text_of("CITATION.cff"), re.MULTILINE)[1] == VERSION
    assert f"image: helmdeck:{VERSION}" in text_of("deploy/kubernetes/deployment.yaml")
    assert f"| {VERSION.rpartition('.')[0]} |" in text_of("SECURITY.md")
    assert re.search(r"^## \[?(\d\S*?)\]? - ", text_of("CHANGELOG.md"), re.MULTILINE)[1] == VERSION


def test_every_dependency_has_a_lowest_version_that_is_tested():
    for project in PROJECTS:
        listed = [*project["dependencies"], *itertools.chain(*project.get("optional-dependencies", {}).values())]
        assert [each for each in listed if not re.search(r"[>=]=", each) and not each.startswith("types-")] == []


def test_extras_that_users_install_are_tested_with_the_development_environment():
    extras = PROJECTS[0]["optional-dependencies"]
    tools = {"dev", "docs", "release"}
    used = set().union(*(names_of(extras[extra]) for extra in extras.keys() - tools))
    assert used - names_of(extras["dev"]) <= {"opentelemetry-api"}  # its SDK is there


@each_case("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_actions_are_pinned_and_jobs_have_least_permissions(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["permissions"].keys() <= {"contents", "id-token", "packages"}, name
        assert job["timeout-minutes"] <= 60, name
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name
            assert "${{" not in step.get("run", ""), f"{name}: pass expressions to commands as variables"
    versions = dict(re.findall(r"uses: (\S+) # (v\d+\.\d+\.\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert versions.keys() == {
        step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step
    }


def test_only_the_job_that_publishes_may_identify_itself_to_the_index():
    jobs = yaml.safe_load(text_of(".github/workflows/release.yml"))["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    assert set(jobs["publish"]["needs"]) == {"build", "use"}
    assert all("checkout" not in step["uses"] for step in jobs["publish"]["steps"])


@pytest.mark.parametrize("path", ["ci.yml", "release.yml"])
def test_workflows_run_the_dry_run_that_works_everywhere(path):
    assert "run: bash .ci/release" in text_of(f".github/workflows/{path}")


def test_public_names_of_the_baseline_are_those_of_a_version_that_is_not_newer():
    head = text_of("release/baseline/helmdeck_core.txt").partition("\n")[0]
    version = re.search(r"in version ([\d.]+),", head)[1]
    assert tuple(map(int, version.split("."))) <= tuple(map(int, VERSION.split(".")[:3]))
