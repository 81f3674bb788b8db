"""The site: every page has a place, an opening and an end; the checks of its links find what is broken."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.case_support import each_case

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path += [str(DOCS), str(DOCS / "website")]
stage = importlib.import_module("stage")
check = importlib.import_module("check")
build = importlib.import_module("build")

GUIDES = sorted([*DOCS.glob("how-to/*.md"), *DOCS.glob("coming-from/*.md")])


@each_case("path", [pytest.param(path, id=path.stem) for path in GUIDES])
def test_a_guide_says_whom_it_is_for_and_where_to_go_next(path):
    text = path.read_text(encoding="utf-8")
    assert re.match(r"# .+\n\n\*For .+\.\*\n\n", text)
    assert re.search(r"\n## Next\n\n(- \[.+\]\(\S+\): .+\n){1,4}\Z", text)


@pytest.fixture(scope="module")
def pages():
    return {page.name: page for page in stage.pages()}


def test_every_page_has_one_place_in_the_navigation(pages):
    children = [child for page in pages.values() for child in page.children]
    assert sorted(children) == sorted(set(pages) - {"index"})


def test_pages_show_no_marks_of_the_generator(pages):
    assert [name for name, page in pages.items() if re.search(r"^<!--", stage._FENCED.sub("", page.text), re.M)] == []


def test_the_index_for_programs_lists_every_guide(pages):
    text = build.llms([*pages.values()])
    assert text.startswith("# Helmdeck\n\n> Helmdeck is ")
    names = [path.relative_to(DOCS).with_suffix("").as_posix() for path in GUIDES]
    assert [name for name in names if f"]({name}.md): " not in text] == []


def test_order_of_search_results_refers_to_pages_of_the_site(pages):
    script = (DOCS / "website" / "scorer.js").read_text(encoding="utf-8")
    parts = re.findall(r"[a-z-]{6,}/?", " ".join(re.findall(r"if \((.+)\.test", script)).replace("\\", ""))
    assert {"how-to/", "tutorial", "benchmarks"} <= set(parts)
    assert [part for part in parts if not any(name.startswith(part) for name in pages)] == []


def test_links_of_the_repository_become_links_of_the_site():
    places = {"docs/how-to/a.md": "how-to/a", "hookspecs.md": "reference/hooks", "docs/README.md#use-it": "use-it"}
    moved = {
        target: stage._moved(target, "docs/how-to", "how-to/b", places, ROOT)
        for target in (
            "a.md#x",
            "../../hookspecs.md",
            "../README.md#use-it",
            "../README.md#install",
            "../../deploy",
            "https://a.b",
        )
    }
    assert [*moved.values()] == [
        "a.md#x",
        "../reference/hooks.md",
        "../use-it.md",
        "../index.md#install",
        "",
        "https://a.b",
    ]
    with pytest.raises(SystemExit, match="no such file: c.md"):
        stage._moved("c.md", "docs/how-to", "how-to/b", places, ROOT)


def test_a_build_does_not_replace_a_folder_that_is_no_site(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(SystemExit, match="no site of an earlier build"):
        build.build(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_the_check_of_the_site_reports_broken_links_and_resources_of_other_hosts(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x"></a><a href="b.html#y"></a><a href="c.html"></a><a href="https://a.b"></a>'
    )
    (tmp_path / "b.html").write_text(
        '<h1 id="x"></h1><script src="https://cdn.example/x.js"></script><img src="//x.y/z">'
    )
    (tmp_path / "a.md").write_text("[b](b.html#x) [d](d.md) `[e](e.md)` [f](https://a.b)")
    assert check.problems(tmp_path) == [
        "a.md: no such file: d.md",
        "a.html: no such anchor: b.html#y",
        "a.html: no such file: c.html",
        "b.html: loads https://cdn.example/x.js from another host",
        "b.html: loads //x.y/z from another host",
    ]


INDEX = {
    "terms": {"fallback": 1, "calibr": 2, "retri": 1, "variety": 3, "width": 1},
    "titleterms": {"gateway": 4},
    "alltitles": {"Put a gateway in front of your clients": [], "Fallback chains": [], "Calibrate a model": []},
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fallbak", "fallback"),
        ("Gatewya limits of fallback", "gateway limits of fallback"),
        ("calibrtae", "calibrate"),
        ("with fallback", "with fallback"),  # a word that the search ignores
        ("vari", "vari"),  # the beginning of a word
        ("rtx4090 x9", "rtx4090 x9"),
        ("entirely", "entirely"),
    ],
)
def test_a_misspelt_search_word_is_replaced_with_the_most_similar_one(query, expected):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    source = (DOCS / "website" / "static" / "search.js").read_text(encoding="utf-8")
    arguments = f"{json.dumps(query)}, {json.dumps(INDEX)}, (word) => word, new Set(['with', 'limits'])"
    program = f"{source}\nprocess.stdout.write(corrected({arguments}));"
    done = subprocess.run([node, "-e", program], capture_output=True, encoding="utf-8", timeout=60)
    assert (done.stdout, done.stderr) == (expected, "")
