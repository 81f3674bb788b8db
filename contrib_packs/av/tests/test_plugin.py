"""``av.validate`` on files that ffmpeg makes with known silence, loudness and duration."""

import asyncio
import shutil
import subprocess
import sys

import pytest

import helmdeck_pack_av
from helmdeck_core import ArtifactInvalid, FailureClass, PackError, PackErrorCode
from helmdeck_core.cli import ExitCode, exit_code_of
from helmdeck_pack_av.process import run_program
from helmdeck_pack_av.validate import NAME
from helmdeck_testing import PackContract

needs_ffmpeg = pytest.mark.skipif(
    not (shutil.which("ffmpeg") and shutil.which("ffprobe")), reason="ffmpeg and ffprobe are not installed"
)

TONE = "sine=frequency=1000:sample_rate=48000"
"""ffmpeg's sine has a peak of 1/8, -18.06 dBFS; the conversion to stereo removes 3.01 dB from both channels."""


def ffmpeg(*options, to):
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-y", *options, str(to)]
    subprocess.run(command, check=True, capture_output=True)
    return to


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    """The files by name."""
    folder = tmp_path_factory.mktemp("media")
    quiet = "volume=enable='between(t,2,4.5)':volume=0,volume=enable='gte(t,7)':volume=0"
    stereo = ["-ac", "2"]
    return {
        # 2 s tone, 2.5 s silence, 2.5 s tone, 3 s silence until the end
        "gaps": ffmpeg("-f", "lavfi", "-i", f"{TONE}:duration=10", "-af", f"volume=4dB,{quiet}", *stereo, to=folder / "gaps.wav"),
        "tone": ffmpeg("-f", "lavfi", "-i", f"{TONE}:duration=5", "-af", "volume=1dB", *stereo, to=folder / "tone.wav"),
        "loud": ffmpeg("-f", "lavfi", "-i", f"{TONE}:duration=5", "-af", "volume=16dB", *stereo, to=folder / "loud.flac"),
        "silent": ffmpeg("-f", "lavfi", "-i", "anullsrc=r=48000:cl=stereo:d=4", to=folder / "silent.wav"),
        "uneven": ffmpeg(
            "-f", "lavfi", "-i", "color=c=red:s=32x32:r=10:d=5", "-f", "lavfi", "-i", f"{TONE}:duration=3",
            "-c:v", "mpeg4", "-c:a", "aac", *stereo, to=folder / "uneven.mp4",
        ),
        "even": ffmpeg(
            "-f", "lavfi", "-i", "color=c=red:s=32x32:r=10:d=3", "-f", "lavfi", "-i", f"{TONE}:duration=3",
            "-c:v", "mpeg4", "-c:a", "flac", *stereo, to=folder / "even.mkv",
        ),
        "mute": ffmpeg("-f", "lavfi", "-i", "color=c=red:s=32x32:r=10:d=2", "-c:v", "mpeg4", to=folder / "-mute.mp4"),
    }  # fmt: skip


@pytest.fixture
def validate(deck_with):
    deck = deck_with(helmdeck_pack_av)
    return lambda path, **options: deck.run(NAME, {"path": str(path), **options})


def checks(output):
    return [each["check"] for each in output["findings"]]


@needs_ffmpeg
class TestContract(PackContract):
    plugin = helmdeck_pack_av
    name = NAME

    @pytest.fixture(autouse=True)
    def _file(self, media):
        type(self).inputs = ({"path": str(media["tone"])}, {"path": str(media["gaps"]), "strict": False})


# -- measurements ----------------------------------------------------------------------------------------------


@needs_ffmpeg
def test_silence_is_found_within_a_tenth_of_a_second(validate, media):
    found = [each for each in validate(media["gaps"])["findings"] if each["check"] == "silence_runs"]
    expected = [(2, 4.5), (7, 10)]
    assert [(each["start_s"], each["end_s"]) for each in found] == [pytest.approx(run, abs=0.1) for run in expected]


@needs_ffmpeg
def test_silence_up_to_the_limit_is_not_a_finding(validate, media):
    output = validate(media["gaps"], max_silence_s=2.8)
    assert [each["start_s"] for each in output["findings"] if each["check"] == "silence_runs"] == [
        pytest.approx(7, abs=0.1)
    ]
    assert output["measurements"]["silence_s"] == pytest.approx(3, abs=0.1)


@needs_ffmpeg
@pytest.mark.parametrize(("name", "lufs"), [("tone", -20.1), ("loud", -5.1)])
def test_loudness_is_right_within_half_a_unit(validate, media, name, lufs):
    # ITU-R BS.1770: a sine of 1 kHz with a peak of 0 dBFS in both channels has 0 LUFS.
    assert validate(media[name])["measurements"]["loudness_lufs"] == pytest.approx(lufs, abs=0.5)


@needs_ffmpeg
def test_loudness_outside_the_limits_is_a_finding(validate, media):
    assert checks(validate(media["tone"])) == []
    assert checks(validate(media["loud"])) == ["loudness_lufs"]
    assert checks(validate(media["tone"], min_lufs=-18)) == ["loudness_lufs"]
    assert checks(validate(media["loud"], max_lufs=0)) == []


@needs_ffmpeg
def test_silent_file_has_no_loudness(validate, media):
    output = validate(media["silent"])
    assert checks(output) == ["silence_runs", "loudness_lufs"]
    assert output["measurements"]["loudness_lufs"] is None
    assert output["findings"][0]["end_s"] == pytest.approx(4, abs=0.1)


@needs_ffmpeg
def test_audio_and_video_of_different_duration_are_a_finding(validate, media):
    output = validate(media["uneven"], min_lufs=-30)
    (finding,) = output["findings"]
    assert finding["check"] == "audio_video_duration"
    assert finding["value"] == pytest.approx(-2, abs=0.1)
    assert output["measurements"]["audio_duration_s"] == pytest.approx(3, abs=0.1)
    assert output["measurements"]["video_duration_s"] == pytest.approx(5, abs=0.1)


@needs_ffmpeg
def test_durations_are_read_from_matroska_too(validate, media):
    output = validate(media["even"], min_lufs=-30)
    assert output["findings"] == []
    assert output["measurements"]["audio_duration_s"] == pytest.approx(3, abs=0.1)
    assert output["measurements"]["video_duration_s"] == pytest.approx(3, abs=0.1)


@needs_ffmpeg
def test_duration_that_the_file_does_not_declare_is_measured(validate, media, tmp_path):
    streamed = tmp_path / "streamed.mkv"
    command = [
        "ffmpeg",
        "-nostdin",
        "-loglevel",
        "error",
        "-i",
        str(media["tone"]),
        "-c:a",
        "flac",
        "-f",
        "matroska",
        "-",
    ]
    with streamed.open("wb") as file:
        subprocess.run(command, check=True, stdout=file)
    assert validate(streamed)["measurements"]["audio_duration_s"] == pytest.approx(5, abs=0.1)


@needs_ffmpeg
def test_video_without_audio_has_no_audio_findings_and_its_name_is_not_an_option(validate, media, monkeypatch):
    monkeypatch.chdir(media["mute"].parent)
    output = validate("-mute.mp4")
    assert output["findings"] == []
    assert output["measurements"]["audio_duration_s"] is None


@needs_ffmpeg
def test_damaged_file_is_a_finding(validate, media, tmp_path):
    data = bytearray(media["loud"].read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4_000] = bytes(4_000)
    damaged = tmp_path / "damaged.flac"
    damaged.write_bytes(data)
    assert "decode_errors" in checks(validate(damaged))


# -- failures --------------------------------------------------------------------------------------------------


@needs_ffmpeg
def test_strict_turns_findings_into_artifact_invalid(validate, media):
    with pytest.raises(ArtifactInvalid, match="loudness of -5") as caught:
        validate(media["loud"], strict=True)
    assert caught.value.failure_class is FailureClass.ARTIFACT_INVALID
    assert not caught.value.retryable
    assert exit_code_of(caught.value) == ExitCode.ARTIFACT_INVALID


@needs_ffmpeg
def test_strict_passes_a_file_without_findings(validate, media):
    assert validate(media["tone"], strict=True)["findings"] == []


@needs_ffmpeg
@pytest.mark.parametrize("text", ["not media", "#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n", ""])
def test_file_that_is_not_media_is_invalid_input(validate, tmp_path, text):
    path = tmp_path / "clip.m3u8"
    path.write_text(text)
    with pytest.raises(PackError, match="not an audio or video file") as caught:
        validate(path)
    assert caught.value.code is PackErrorCode.INVALID_INPUT


def test_missing_file_and_directory_are_invalid_input(validate, tmp_path):
    for path in (tmp_path / "missing.wav", tmp_path, "http://example.com/a.wav"):
        with pytest.raises(PackError, match="is not a file") as caught:
            validate(path)
        assert caught.value.code is PackErrorCode.INVALID_INPUT


def test_missing_program_is_named(validate, tmp_path, monkeypatch):
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackError, match="ffprobe is not installed; install ffmpeg"):
        validate(tmp_path / "a.wav")


def test_limits_that_exclude_each_other_are_invalid_input(validate, tmp_path):
    with pytest.raises(PackError, match="min_lufs -10 is above max_lufs -14"):
        validate(tmp_path, min_lufs=-10)


# -- programs --------------------------------------------------------------------------------------------------


def test_output_of_a_program_is_limited():
    code = "import sys; sys.stdout.write('a' * 300_000); sys.stderr.write('b' * 300_000 + 'end')"
    done = asyncio.run(run_program([sys.executable, "-c", code], timeout_s=30, max_bytes=1_000))
    assert (done.code, len(done.out), len(done.err), done.err[-3:]) == (0, 1_000, 1_000, "end")


def test_program_that_takes_too_long_is_killed():
    with pytest.raises(TimeoutError):
        asyncio.run(run_program([sys.executable, "-c", "while True: pass"], timeout_s=0.2, max_bytes=10))
