"""``podcast.generate`` and ``slides.narrate``: what they produce is read back with ffmpeg."""

import asyncio
import itertools
import subprocess
from pathlib import Path

import pytest

import helmdeck_pack_av
from contrib_packs.av.tests.media_support import decoded, needs_programs, probed
from helmdeck_core import Pack, PackError, PackErrorCode, hookimpl
from helmdeck_pack_av import narrate, podcast
from helmdeck_testing import PackContract, make_deck

OPTIONS = {"packs": {"options": {"av": {"engine": "test"}}}}

SCRIPT = "Ada: Welcome to the bees.\nBen: They dance in the dark."

OUTLINE = """\
# Bees & <dances>

## 1. Bees dance in {\\fs90}the dark

- The dance shows the direction to the flowers
- Its length shows the distance

> Bees dance, and -i others <follow>.

## 2. The sun is their compass

> The sun shows the way. Length is distance.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An episode and a film with the default voice, as the packs return them."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELMDECK_DATA_DIR", str(folder))
        with make_deck(helmdeck_pack_av) as deck:
            episode = deck.run(podcast.NAME, {"text": SCRIPT, "hosts": 2, "title": "-i Bees & more"})
            film = deck.run(narrate.NAME, {"outline": OUTLINE})
    return {"episode": episode, "film": film}


# -- files -----------------------------------------------------------------------------------------------------


@needs_programs
def test_episode_is_an_mp3_with_its_title_at_the_target_loudness(made):
    episode = made["episode"]
    file = probed(episode["path"])
    (stream,) = file["streams"]
    assert (stream["codec_name"], stream["channels"], file["format"]["tags"]["title"]) == ("mp3", 2, "-i Bees & more")
    assert float(file["format"]["duration"]) == pytest.approx(episode["duration_s"], abs=0.1)
    assert (episode["turns"], episode["voices"]) == (2, ["en-us", "en-us+f3"])
    with make_deck(helmdeck_pack_av) as deck:
        measured = deck.run("av.validate", {"path": episode["path"]})
    assert measured["measurements"]["loudness_lufs"] == pytest.approx(-16, abs=0.5)
    assert measured["measurements"]["true_peak_dbfs"] < -1
    assert episode["validation"] == {key: measured[key] for key in ("findings", "measurements")}


@needs_programs
def test_film_shows_each_slide_as_long_as_its_words(made):
    film = made["film"]
    streams = {stream["codec_type"]: stream for stream in probed(film["path"])["streams"]}
    assert (streams["video"]["codec_name"], streams["video"]["height"]) == ("h264", 720)
    ends = [slide["end_s"] for slide in film["slides"]]
    assert float(streams["audio"]["duration"]) == pytest.approx(ends[-1], abs=0.1)
    assert float(streams["video"]["duration"]) == pytest.approx(ends[-1], abs=0.3)
    frames = decoded(film["path"], "-map", "0:v", "-vf", "scale=160:90", "-pix_fmt", "gray", "-f", "rawvideo")
    pictures = [frames[at : at + 160 * 90] for at in range(0, len(frames), 160 * 90)]
    changes = [
        number / narrate.FRAMES_PER_S
        for number, (before, after) in enumerate(itertools.pairwise(pictures), 1)
        if sum(abs(a - b) for a, b in zip(before, after, strict=True)) > 10_000
    ]
    assert changes == [pytest.approx(ends[0], abs=0.3)]


@needs_programs
def test_captions_of_the_film_are_the_spoken_words(made):
    film = made["film"]
    blocks = decoded(film["path"], "-map", "0:s", "-f", "srt").decode().strip().split("\n\n")
    words = " ".join(" ".join(block.splitlines()[2:]) for block in blocks)
    assert words == "Bees dance, and -i others <follow>. The sun shows the way. Length is distance."
    assert film["validation"]["findings"] == []
    assert film["validation"]["measurements"]["loudness_lufs"] == pytest.approx(-16, abs=0.5)


@needs_programs
def test_picture_of_a_slide_is_shown_and_a_slide_without_words_has_a_pause(engine, deck_with, tmp_path):
    picture = tmp_path / "-red.png"
    red = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:s=64x64", "-frames:v", "1", f"file:{picture}"]
    subprocess.run(red, check=True)
    arguments = {"slides": [{"picture": str(picture)}], "validate": False}
    film = deck_with(helmdeck_pack_av, config=OPTIONS).run(narrate.NAME, arguments)
    assert engine.spoken == []
    assert film["duration_s"] == narrate.SILENT_SLIDE_S
    first = ["-vf", "crop=2:2,scale=1:1", "-frames:v", "1", "-pix_fmt", "rgb24", "-f", "rawvideo"]
    assert decoded(film["path"], *first)[0] > 200
    assert "validation" not in film


@needs_programs
def test_picture_that_cannot_be_decoded_is_invalid_input_that_names_the_slide(engine, deck_with, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    with pytest.raises(PackError, match="slide 1: the picture cannot be used") as caught:
        deck_with(helmdeck_pack_av, config=OPTIONS).run(narrate.NAME, {"slides": [{"picture": f"{tmp_path}/bad.png"}]})
    assert caught.value.code is PackErrorCode.INVALID_INPUT


@needs_programs
def test_findings_never_fail_the_pack_and_nothing_is_spoken_twice(engine, deck_with):
    engine.amplitude = 0
    episode = deck_with(helmdeck_pack_av, config=OPTIONS).run(podcast.NAME, {"text": "Silence."})
    assert [each["check"] for each in episode["validation"]["findings"]] == ["loudness_lufs"]
    assert len(engine.spoken) == 1


# -- without programs ------------------------------------------------------------------------------------------


@pytest.fixture
def without_programs(engine, monkeypatch):
    """Files are made without ffmpeg: what is written is not sound."""

    async def ffmpeg(options, timeout_s, folder=None):
        target = Path(folder or "", options[-1].removeprefix("file:"))
        await asyncio.to_thread(target.write_bytes, b"made")
        return ""

    async def filters(*_):
        return "anull"

    async def pictures(slides, folder, _):
        return [folder / f"plain-{number}.png" for number, _ in enumerate(slides)]

    for module in (podcast, narrate):
        monkeypatch.setattr(module, "ffmpeg", ffmpeg)
        monkeypatch.setattr(module, "filters_to_target", filters)
    monkeypatch.setattr(narrate, "draw", pictures)
    return engine


class TestPodcastContract(PackContract):
    plugin = helmdeck_pack_av
    name = podcast.NAME
    inputs = ({"text": "Hello.", "validate": False}, {"text": SCRIPT, "hosts": 2, "language": "pt-br", "title": "x", "validate": False})  # fmt: skip
    config = OPTIONS

    @pytest.fixture(autouse=True)
    def _stubs(self, without_programs): ...


class TestNarrateContract(PackContract):
    plugin = helmdeck_pack_av
    name = narrate.NAME
    inputs = ({"outline": OUTLINE, "validate": False}, {"outline": {"slides": [{"message": "Hi"}]}, "validate": False})
    config = OPTIONS

    test_hostile_string_gives_output_or_a_failure_of_the_pack = None  # an outline is a string or an object

    @pytest.fixture(autouse=True)
    def _stubs(self, without_programs): ...


def test_failure_to_measure_is_a_finding(without_programs, deck_with, monkeypatch):
    async def raise_timeout(*_):
        raise TimeoutError

    monkeypatch.setattr("helmdeck_pack_av.measure.Meter.measure", raise_timeout)
    episode = deck_with(helmdeck_pack_av, config=OPTIONS).run(podcast.NAME, {"text": "Hello."})
    (finding,) = episode["validation"]["findings"]
    assert finding["check"] == "not_measured"
    assert "timeout" in finding["message"]


@pytest.mark.parametrize(
    ("name", "arguments", "detail"),
    [
        (podcast.NAME, {"text": "*** --- \n"}, "text has no words"),
        (podcast.NAME, {"text": "a " * 30_001}, "60,002 characters; at most 60,000"),
        (narrate.NAME, {}, "exactly one of outline and slides"),
        (narrate.NAME, {"outline": OUTLINE, "slides": [{"title": "x"}]}, "exactly one of outline and slides"),
        (narrate.NAME, {"outline": "no heading"}, "there are no slides"),
        (narrate.NAME, {"slides": [{"title": "x"}] * 61}, "61 slides; at most 60"),
        (
            narrate.NAME,
            {"slides": [{"picture": "/etc/hostname"}]},
            "slide 1: '/etc/hostname' is not a PNG or JPEG file",
        ),
        (podcast.NAME, {"text": "Hi.", "language": "../x"}, "language"),
    ],
)
def test_unusable_input_is_invalid_input_before_anything_is_spoken(engine, deck_with, name, arguments, detail):
    with pytest.raises(PackError, match=detail) as caught:
        deck_with(helmdeck_pack_av, config=OPTIONS).run(name, arguments)
    assert caught.value.code is PackErrorCode.INVALID_INPUT
    assert engine.spoken == []


def test_slides_render_draws_the_pictures_where_it_is_installed(without_programs, deck_with, tmp_path):
    picture = tmp_path / "slide.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    requests = []

    async def render(_, arguments):
        requests.append(arguments)
        return {"slides": [{"title": "Cover", "text": [], "notes": "Drawn.", "picture": str(picture)}]}

    class Slides:
        @hookimpl
        def helmdeck_packs(self):
            return [Pack(name="slides.render", version="1", description="Draw.", run=render)]

    deck = deck_with(helmdeck_pack_av, Slides(), config=OPTIONS)
    film = deck.run(narrate.NAME, {"outline": OUTLINE, "validate": False})
    assert requests == [{"outline": OUTLINE, "formats": ["png"]}]
    assert [slide["title"] for slide in film["slides"]] == ["Cover"]
    assert "findings" not in film
    assert [each.text for each in without_programs.spoken] == ["Drawn."]


def test_progress_has_shares_that_grow(without_programs, deck_with):
    shares = []
    deck = deck_with(helmdeck_pack_av, config=OPTIONS)
    deck.run(
        podcast.NAME,
        {"text": "One.\n\nTwo.", "hosts": 2, "validate": False},
        progress=lambda each: shares.append(each.fraction),
    )
    assert shares == sorted(shares)
    assert len(shares) >= 3


def test_cancelling_ends_the_engine_and_removes_the_drafts(engine, deck_with, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = []

    async def main():
        started = asyncio.Event()

        async def hang(speech):
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(speech.text)

        engine.before = hang
        run = asyncio.create_task(deck_with(helmdeck_pack_av, config=OPTIONS).arun(podcast.NAME, {"text": "Hi."}))
        await started.wait()
        assert list(tmp_path.glob("helmdeck-podcast-*"))
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

    asyncio.run(main())
    assert ended == ["Hi."]
    assert not list(tmp_path.glob("helmdeck-podcast-*"))
