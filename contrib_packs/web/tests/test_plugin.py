"""``web.search`` and ``web.scrape`` over a folder of files and loopback pages."""

import pytest

import helmdeck_pack_web
from helmdeck_core import PackError, PackErrorCode
from helmdeck_testing import PackContract

PAGE = "<html><head><title>On bees</title></head><body><script>x()</script><p>Bees &amp; wasps fly.</p></body></html>"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "bees.md").write_text("# The dance of bees\n\nBees dance in the dark hive.\n")
    (folder / "page.html").write_text(PAGE)
    (folder / "cakes.txt").write_text(
        "Cakes need butter. A bee was seen once near a cake.\n" + "Cakes are baked. " * 40
    )
    (folder / ".hidden.md").write_text("# Bees in secret\n")
    (folder / "bees.bin").write_bytes(b"\x00bees")
    (tmp_path / "outside.md").write_text("# Bees outside\n")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    return folder


@pytest.fixture
def deck(deck_with, folder):
    options = {"web": {"folder": str(folder), "allow": ["127.0.0.1"]}}
    return deck_with(helmdeck_pack_web, config={"packs": {"options": options}})


class TestSearchContract(PackContract):
    plugin = helmdeck_pack_web
    name = "web.search"
    inputs = ({"query": "bees"}, {"query": "butter", "max_results": 1})

    @pytest.fixture(autouse=True)
    def _folder(self, folder):
        type(self).config = {"packs": {"options": {"web": {"folder": str(folder)}}}}


def test_search_ranks_titles_first_and_finds_no_hidden_or_linked_file(deck, folder):
    output = deck.run("web.search", {"query": "Where do bees dance?"})
    assert [url.rpartition("/")[2] for url in output["urls"]] == ["bees.md", "page.html", "cakes.txt"]
    assert output["results"][0] | {"url": ""} == {
        "url": "",
        "title": "The dance of bees",
        "snippet": "# The dance of bees Bees dance in the dark hive.",
    }


def test_snippet_of_a_long_file_full_of_the_words_is_its_best_part(deck, folder):
    filler = "the sea and the ship " * 20_000
    (folder / "long.txt").write_text(f"{filler}the tide at the harbour of Brest {filler}")
    found = deck.run("web.search", {"query": "sea, ship, tide and harbour"})["results"][0]
    assert found["url"].endswith("long.txt") and "the tide at the harbour" in found["snippet"]
    assert len(found["snippet"].split()) <= 25


def test_snippet_of_a_file_that_only_its_title_finds_is_its_start(deck, folder):
    (folder / "zebra.txt").write_text("Stripes. " * 40)
    found = deck.run("web.search", {"query": "zebra"})["results"][0]
    assert found["snippet"] == "Stripes. " * 23 + "Stripes.…"


def test_search_without_a_match_is_a_failure_that_names_the_query(deck):
    with pytest.raises(PackError, match="contains a word of the query 'zebra'"):
        deck.run("web.search", {"query": "zebra"})


def test_search_runs_only_with_a_folder(deck_with):
    assert not deck_with(helmdeck_pack_web).can_run("web.search")


def test_several_pages_are_joined_with_their_sources_and_failures_are_findings(deck, folder):
    urls = [(folder / name).as_uri() for name in ("bees.md", "page.html", "missing.md")]
    output = deck.run("web.scrape", {"urls": urls})
    assert [page["title"] for page in output["pages"]] == ["The dance of bees", "On bees"]
    assert output["text"].endswith(f"Bees & wasps fly.\n\nSource: {urls[1]}")
    assert output["findings"] == [f"{urls[2]}: it is not a file"]


@pytest.mark.parametrize("name", ["../outside.md", "link.md", "bees.bin", "%2e%2e/outside.md"])
def test_files_outside_the_folder_or_of_another_type_are_not_read(deck, folder, name):
    with pytest.raises(PackError, match="no page can be read") as caught:
        deck.run("web.scrape", {"urls": [f"{folder.as_uri()}/{name}"]})
    assert caught.value.code is PackErrorCode.INVALID_INPUT


def test_files_are_not_read_without_a_folder(deck_with, folder):
    with pytest.raises(PackError, match=r"below \[packs.options.web\] folder, which is not set"):
        deck_with(helmdeck_pack_web).run("web.scrape", {"urls": [(folder / "bees.md").as_uri()]})


def test_password_of_a_url_is_not_part_of_the_failure(deck):
    with pytest.raises(PackError, match="contains credentials") as failed:
        deck.run("web.scrape", {"urls": ["http://ann:example-word@example.org/"]})
    assert "example-word" not in str(failed.value)
