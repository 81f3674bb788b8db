"""Voice engines: the default, a speech server, those of other distributions, and the clips that are kept."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

import helmdeck_pack_av
from contrib_packs.av.tests.media_support import needs_programs, tone
from helmdeck_core import ConfigError, PackError, PackErrorCode
from helmdeck_pack_av import Speech, VoiceError, espeak, podcast, speech_server
from helmdeck_pack_av.process import Finished
from helmdeck_pack_av.sound import SoundError, as_clip
from helmdeck_pack_av.speech import ClipCache
from helmdeck_pack_av.voices import find_engine

ACME = """
import shutil
from helmdeck_pack_av import VoiceEngine, voice_hookimpl

async def speak(speech, target):
    shutil.copyfile(speech.options["sample"], target)

@voice_hookimpl
def voice_engines():
    return [VoiceEngine(name="acme", speak=speak, voices=lambda language: ("one", "two"), programs={"acme-say": "pip install acme"})]
"""


def speech(text="Hello.", **fields):
    return Speech(**{"text": text, "language": "en", "voice": "en-us", **fields})


# -- engines of other distributions ----------------------------------------------------------------------------


def test_installed_distribution_adds_an_engine(installed_plugin):
    installed_plugin("acme-voice", {}, {"acme_voice": ACME})
    with_points(installed_plugin, "acme-voice", "acme = acme_voice")
    engine = find_engine("acme")
    assert engine.voices("en") == ("one", "two")


def test_unknown_engine_is_invalid_input_that_names_engines_and_plugins_that_were_left_out(installed_plugin, deck_with):
    with_points(installed_plugin, "broken-voice", "broken = no_such_module")
    deck = deck_with(helmdeck_pack_av, config={"packs": {"options": {"av": {"engine": "espeak"}}}})
    with pytest.raises(
        PackError, match=r"did you mean 'espeak-ng'.*engines: espeak-ng, speech-server; left out: broken"
    ) as caught:
        deck.run(podcast.NAME, {"text": "Hi."})
    assert caught.value.code is PackErrorCode.INVALID_INPUT


def test_pack_runs_only_where_its_programs_are_installed(installed_plugin, deck_with, monkeypatch, tmp_path):
    installed_plugin("acme-voice", {}, {"acme_voice": ACME})
    with_points(installed_plugin, "acme-voice", "acme = acme_voice")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("ffmpeg", "ffprobe"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    deck = deck_with(helmdeck_pack_av, config={"packs": {"options": {"av": {"engine": "acme"}}}})
    assert deck.can_run("av.validate")
    assert not deck.can_run(podcast.NAME)
    assert deck.missing_programs(podcast.NAME) == (("acme-say", "pip install acme"),)


def with_points(install, name, line):
    """Add entry points of the group of voices to a distribution."""
    folder = install(f"{name}-points", {}, {})
    (info,) = folder.glob("*.dist-info")
    (info / "entry_points.txt").write_text(f"[helmdeck_pack_av]\n{line}\n")


# -- espeak-ng -------------------------------------------------------------------------------------------------


def test_text_is_never_an_option_or_a_command_of_the_engine(monkeypatch, tmp_path):
    calls = []

    async def run_program(argv, **_):
        path = Path(argv[argv.index("-f") + 1])
        calls.append((argv, await asyncio.to_thread(path.read_text, encoding="utf-8")))
        tone(tmp_path / "out.wav")
        return Finished(0, "", "")

    monkeypatch.setattr(espeak, "run_program", run_program)
    asyncio.run(espeak.speak(speech("-v de [[h@loU]] $(id) <speak>"), tmp_path / "out.wav"))
    ((argv, text),) = calls
    assert text == "-v de [ [h@loU]] $(id) <speak>"
    assert not any("h@loU" in each for each in argv)
    assert "-m" not in argv


@pytest.mark.parametrize("voice", ["../../secret", "-x", "a/b", "", "en us"])
def test_voice_that_could_be_a_path_or_an_option_is_refused(voice, tmp_path):
    with pytest.raises(VoiceError, match="not the name of a voice") as caught:
        asyncio.run(espeak.speak(speech(voice=voice), tmp_path / "out.wav"))
    assert caught.value.is_invalid


@needs_programs
def test_unknown_language_is_invalid_input(deck_with):
    with pytest.raises(PackError, match="espeak-ng has no voice 'xx'") as caught:
        deck_with(helmdeck_pack_av).run(podcast.NAME, {"text": "Hi.", "language": "xx"})
    assert caught.value.code is PackErrorCode.INVALID_INPUT


# -- a speech server -------------------------------------------------------------------------------------------


@pytest.fixture
def sound(tmp_path):
    tone(tmp_path / "sample.wav")
    return (tmp_path / "sample.wav").read_bytes()


def test_server_gets_text_and_voice_as_data_and_the_key_in_a_header(chat_server, sound, tmp_path, monkeypatch):
    monkeypatch.setenv("SPEECH_KEY", "secret-1")
    server = chat_server(lambda _: (200, {"content-type": "audio/wav"}, sound))
    options = {"url": server.base_url, "model": "kokoro", "key": "env:SPEECH_KEY"}
    asyncio.run(speech_server.speak(speech("Hi & bye", voice="nova", options=options), tmp_path / "out.wav"))
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/audio/speech", "Bearer secret-1")
    assert request.body == {"model": "kokoro", "voice": "nova", "input": "Hi & bye", "response_format": "wav"}
    assert (tmp_path / "out.wav").read_bytes() == sound


@pytest.mark.parametrize(("status", "is_invalid"), [(401, False), (422, True), (503, False)])
def test_status_of_the_server_is_a_failure_without_its_body(chat_server, tmp_path, status, is_invalid):
    server = chat_server(lambda _: (status, {}, "the key secret-1 is wrong"))
    with pytest.raises(VoiceError, match=f"HTTP status {status}") as caught:
        asyncio.run(speech_server.speak(speech(options={"url": server.base_url, "model": "m"}), tmp_path / "out.wav"))
    assert caught.value.is_invalid is is_invalid
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("is_reached", [True, False])
def test_password_of_the_url_is_not_in_a_failure(chat_server, tmp_path, is_reached):
    host = chat_server(lambda _: (503, {}, "busy")).base_url.partition("//")[2] if is_reached else "127.0.0.1:9"
    options = {"url": f"http://ann:word-1@{host}", "model": "m"}
    with pytest.raises(VoiceError, match=r"http://\(not shown\)@127") as caught:
        asyncio.run(speech_server.speak(speech(options=options), tmp_path / "out.wav"))
    assert "word-1" not in str(caught.value)


def test_server_that_cannot_be_reached_and_missing_options_are_failures(tmp_path):
    with pytest.raises(VoiceError, match="no response from http://127.0.0.1:9/audio/speech"):
        asyncio.run(
            speech_server.speak(speech(options={"url": "http://127.0.0.1:9", "model": "m"}), tmp_path / "out.wav")
        )
    with pytest.raises(ConfigError, match="engine_options"):
        asyncio.run(speech_server.speak(speech(options={"model": "m"}), tmp_path / "out.wav"))


@needs_programs
def test_sound_of_another_form_is_converted_and_other_files_are_refused(tmp_path, sound):
    (tmp_path / "a.wav").write_bytes(sound)
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(tmp_path / "a.wav"),
        "-ac",
        "2",
        "-ar",
        "48000",
        str(tmp_path / "b.mp3"),
    ]
    subprocess.run(command, check=True)
    clip = asyncio.run(as_clip(tmp_path / "b.mp3", 60))
    assert (clip.rate, clip.seconds) == (24_000, pytest.approx(0.5, abs=0.1))
    (tmp_path / "c").write_text('{"error": "no sound"}')
    with pytest.raises(SoundError, match="ffmpeg failed"):
        asyncio.run(as_clip(tmp_path / "c", 60))


# -- clips that are kept ---------------------------------------------------------------------------------------

PIPELINE = """
[[pipelines]]
id = "episode"
steps = [{ id = "speak", pack = "podcast.generate", with = { text = "{{inputs.text}}", hosts = 2, validate = false } }]
inputs = { text = { type = "string" } }
"""


@needs_programs
def test_resumed_run_speaks_only_what_was_not_spoken(engine, deck_with, tmp_path):
    (tmp_path / "p.toml").write_text(PIPELINE)

    async def fail_at_three(speech):
        if speech.text == "Three.":
            raise VoiceError("the server is down")

    engine.before = fail_at_three
    config = {
        "pipelines": {"files": [str(tmp_path / "p.toml")]},
        "runs": {"url": f"sqlite:{tmp_path}/runs.db"},
        "packs": {"options": {"av": {"engine": "test"}}},
    }
    with deck_with(helmdeck_pack_av, config=config) as deck, pytest.raises(PackError, match="the server is down"):
        deck.run("episode", {"text": "One.\n\nTwo.\n\nThree."})
    assert sorted(each.text for each in engine.spoken) == ["One.", "Two."]
    engine.before, engine.spoken = None, []
    with deck_with(helmdeck_pack_av, config=config) as deck:  # as another process would
        deck.run("episode", {"text": "One.\n\nTwo.\n\nThree."})
    assert [each.text for each in engine.spoken] == ["Three."]


def test_oldest_clips_above_the_limit_are_removed_and_only_the_owner_reads_them(tmp_path):
    cache = ClipCache(tmp_path / "voices", max_bytes=60_000)
    tone(tmp_path / "clip.wav")  # 24,044 bytes
    for age, key in enumerate(["new", "old", "older"]):
        cache.write(key, tmp_path / "clip.wav")
        os.utime(tmp_path / "voices" / f"{key}.wav", (1e9 - age, 1e9 - age))
    cache.prune()
    assert [key for key in ("new", "old", "older") if cache.read(key, tmp_path / f"{key}.wav")] == ["new", "old"]
    assert (tmp_path / "voices").stat().st_mode & 0o077 == 0
    assert (tmp_path / "new.wav").stat().st_mode & 0o077 == 0


def test_cache_of_no_bytes_keeps_nothing(tmp_path):
    tone(tmp_path / "clip.wav")
    ClipCache(tmp_path / "voices", max_bytes=0).write("key", tmp_path / "clip.wav")
    assert not (tmp_path / "voices").exists()
