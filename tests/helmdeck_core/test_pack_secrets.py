"""Secrets of providers in what packs report, and keys in the wrong option of the configuration."""

import base64
import traceback
from urllib.parse import quote

import pytest

from helmdeck_core import ConfigError, Pack, PackError, PackErrorCode
from helmdeck_core.secret_places import looks_like_a_secret
from helmdeck_testing import make_deck, plugin_with

KEY = "sk-proj-Zq7/Xv2+Lm9Tr4Wb8Nc3/Kd6Fg1Hj5Yt0Uv"
FORMS = [KEY, KEY[:14], KEY[-14:], quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), " ".join(KEY)]


def deck_with_pack(fail, monkeypatch):
    async def run(context, value):
        context.progress(f"signing in with {value['text']}")
        fail(value["text"])

    monkeypatch.setenv("PLANTED", KEY)
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    pack = Pack(name="t.fail", version="1", description="Fails.", run=run, input_schema=schema)
    provider = {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9/v1", "api_key": "env:PLANTED"}
    return make_deck(plugin_with(helmdeck_packs=[pack]), config={"providers": {"up": provider}})


def raise_own(text):
    raise PackError("t.fail", PackErrorCode.HANDLER_FAILED, f"rejected {text}")


def raise_other(text):
    raise RuntimeError(f"rejected {text}")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fail", [raise_own, raise_other])
def test_failure_and_progress_of_a_pack_show_no_secret_of_a_provider(fail, form, monkeypatch):
    reported = []
    with deck_with_pack(fail, monkeypatch) as deck, pytest.raises(PackError) as caught:
        deck.run("t.fail", {"text": form}, progress=reported.append)
    shown = [str(caught.value), repr(caught.value), *map(str, reported), *traceback.format_exception(caught.value)]
    assert "rejected" in str(caught.value) or "[redacted]" in str(caught.value)
    assert not [text for text in shown if form in text]
    assert "in raise_o" in "".join(traceback.format_exception(caught.value)), "the traceback is kept as a note"


def test_failure_without_a_secret_keeps_its_cause(monkeypatch):
    with deck_with_pack(raise_other, monkeypatch) as deck, pytest.raises(PackError, match="rejected plain") as caught:
        deck.run("t.fail", {"text": "plain"})
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_key_in_an_option_of_another_type_is_not_repeated():
    with pytest.raises(ConfigError, match=r"timeout_s.*found \(not shown\)") as caught:
        make_deck(config={"providers": {"up": {"kind": "openai-compatible", "timeout_s": KEY}}})
    assert "Zq7" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_secret"),
    [
        (KEY, True),
        ("gho_9aB3cD7eF1gH5iJ2kL6mN0oP4qR8sT", True),
        (f"Bearer {KEY}", True),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", False),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", False),
        ("anthropic/claude-3-5-sonnet-20241022", False),
        ("a sentence with several words and the number 42", False),
        ("", False),
    ],
)
def test_generated_keys_differ_from_names(text, is_secret):
    assert looks_like_a_secret(text) is is_secret
