"""Pipelines of the example catalog that run with the packs of this repository, without a model."""

import shutil

import pytest

import helmdeck_pack_av
import helmdeck_pack_web
from helmdeck_runs.pipelines.needs import needs_of

PROGRAMS = ("ffmpeg", "ffprobe", "espeak-ng")

ARTICLE = b"""<html><head><title>The dance of bees</title></head><body>
<nav><a href="/">Home</a></nav>
<p>Bees dance in the dark hive. The dance shows the direction to the flowers. Its length shows the distance.</p>
</body></html>"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bees.md").write_text("# The dance of bees\n\nBees dance in the dark hive. The dance has 2 parts.\n")
    (notes / "sun.md").write_text("# The sun\n\nThe sun is the compass of bees.\n")
    (notes / "cakes.md").write_text("# Cakes\n\nCakes need butter.\n")
    return {"packs": {"options": {"web": {"folder": str(notes), "allow": ["127.0.0.1"]}}}}


@pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="run: apt-get install ffmpeg espeak-ng")
def test_url_to_podcast_makes_an_episode_of_a_page_and_checks_it(deck_with, config, chat_server):
    server = chat_server(lambda _: (200, {"content-type": "text/html"}, ARTICLE))
    with deck_with(helmdeck_pack_av, helmdeck_pack_web, config=config) as deck:
        assert deck.can_run("url-to-podcast")
        outputs = deck.run("url-to-podcast", {"url": f"{server.base_url}/bees"})["outputs"]
        measured = deck.run("av.validate", {"path": outputs["audio"]})["measurements"]
    assert outputs["findings"] == []
    assert 5 < measured["audio_duration_s"] < 20
    assert measured["loudness_lufs"] == pytest.approx(-16, abs=0.5)


def test_research_to_blog_writes_a_post_of_the_files_that_fit_with_their_sources(deck_with, config):
    with deck_with(helmdeck_pack_web, config=config) as deck:
        post = deck.run("research-to-blog", {"topic": "How bees dance"})["outputs"]["markdown"]
    assert post.startswith("# How bees dance\n")
    assert "Bees dance in the dark hive." in post
    assert "The sun is the compass of bees." in post
    assert "bees.md" in post
    assert "butter" not in post


def test_needs_name_the_distribution_or_the_program_and_the_command(deck_with, config, monkeypatch, tmp_path):
    with deck_with(config={}) as deck:
        needs = needs_of(deck.catalog.get("url-to-podcast"), deck)
        assert needs.rank() == 1
        assert "podcast.generate needs helmdeck-pack-av: pip install helmdeck-pack-av (in a checkout: pip install ./contrib_packs/av)" in needs.lines()  # fmt: skip
    monkeypatch.setenv("PATH", str(tmp_path))
    with deck_with(helmdeck_pack_av, helmdeck_pack_web, config=config) as deck:
        needs = needs_of(deck.catalog.get("url-to-podcast"), deck)
        assert list(needs.names()) == ["ffmpeg", "ffprobe", "espeak-ng"]
        assert "podcast.generate needs espeak-ng: apt-get install espeak-ng" in needs.lines()
