"""Images, recordings and PDF documents: from every dialect to every provider, refused or routed elsewhere where it must be."""

import base64
import contextlib

import pytest

from helmdeck_testing import SERVER_FORMATS, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import KINDS, FormatServer, running_gateway, upstream

PDF, WAV = b"%PDF-1.7", b"RIFF"
PDF64, WAV64 = base64.b64encode(PDF).decode(), base64.b64encode(WAV).decode()
PDF_URL = f"data:application/pdf;base64,{PDF64}"


@pytest.fixture(scope="module")
def gateway(servers):
    providers = {f"to-{name}": upstream(server, KINDS[name]) for name, server in servers.items()}
    models = {"hears": ["to-ollama/m", "to-anthropic/m", "to-gemini/m"]}
    with running_gateway(config={"providers": providers, "gateway": {"models": models}}) as running:
        yield running


@pytest.fixture(autouse=True)
def quiet(servers):
    for server in servers.values():
        server.answer = ScriptedAnswer(text="It is a tide table.")
        server.requests.clear()


def messages_of(*content):
    return {"messages": [{"role": "user", "content": list(content)}]}


PDFS = {
    "chat": ("/v1/chat/completions", messages_of({"type": "file", "file": {"filename": "t.pdf", "file_data": PDF_URL}})),
    "messages": ("/v1/messages", {"max_tokens": 50, **messages_of({"type": "document", "title": "t.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF64}})}),
    "responses": ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_file", "filename": "t.pdf", "file_data": PDF_URL}]}]}),
    "gemini": ("/v1beta/models/{}:generateContent", {"contents": [{"parts": [{"inline_data": {"mime_type": "application/pdf", "data": PDF64, "displayName": "t.pdf"}}]}]}),
}  # fmt: skip
AUDIO = {
    "chat": ("/v1/chat/completions", messages_of({"type": "input_audio", "input_audio": {"data": WAV64, "format": "wav"}})),
    "gemini": ("/v1beta/models/{}:generateContent", {"contents": [{"parts": [{"inlineData": {"mimeType": "audio/wav", "data": WAV64}}]}]}),
}  # fmt: skip
SENT_PDF = {
    "openai-chat": {"type": "file", "file": {"filename": "t.pdf", "file_data": PDF_URL}},
    "openai-responses": {"type": "input_file", "filename": "t.pdf", "file_data": PDF_URL},
    "anthropic": {"type": "document", "title": "t.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF64}},
    "gemini": {"inlineData": {"mimeType": "application/pdf", "data": PDF64}},
}  # fmt: skip
SENT_AUDIO = {
    "openai-chat": {"type": "input_audio", "input_audio": {"data": WAV64, "format": "wav"}},
    "gemini": {"inlineData": {"mimeType": "audio/wav", "data": WAV64}},
}


def send(gateway, row, model):
    path, body = row
    return gateway.send(path.format(model), {"model": model, **body})


def only_part(request):
    """The one part of the one message that a provider got."""
    body = request.body
    (turn,) = body.get("messages") or body.get("input") or body["contents"]
    (part,) = turn.get("content") or turn["parts"]
    return part


@pytest.mark.parametrize("family", SERVER_FORMATS)
@pytest.mark.parametrize(("rows", "sent"), [(PDFS, SENT_PDF), (AUDIO, SENT_AUDIO)], ids=["pdf", "audio"])
def test_file_reaches_the_provider_or_is_refused_with_the_reason(gateway, servers, rows, sent, family):
    for row in rows.values():
        servers[family].requests.clear()
        answer = send(gateway, row, f"to-{family}/m")
        if family in sent:
            assert answer.status == 200
            assert only_part(servers[family].requests[0]) == sent[family]
        else:
            assert answer.status == 400
            assert "does not accept" in answer.body["error"]["message"]
            assert servers[family].requests == []


@pytest.mark.parametrize("name", AUDIO)
def test_file_goes_to_the_first_model_of_the_chain_that_takes_it(gateway, servers, name):
    answer = send(gateway, AUDIO[name], "hears")
    assert (answer.status, answer.headers["x-helmdeck-model"]) == (200, "to-gemini/m")
    assert servers["ollama"].requests == servers["anthropic"].requests == []


def test_model_that_rejects_an_image_is_followed_by_the_next_one(servers):
    class TextOnly(FormatServer):
        def respond(self, request):
            body = b'{"error": {"message": "tide-7b is not a multimodal model", "code": 400}}'
            return 400, {"content-type": "application/json"}, body

    with contextlib.closing(TextOnly(SERVER_FORMATS["openai-chat"])) as text_only:
        providers = {"text": upstream(text_only), "sees": upstream(servers["gemini"], "gemini")}
        with running_gateway(config={"providers": providers, "fallback": {"text/": ["sees/m"]}}) as gateway:
            image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iQ=="}}
            answer = gateway.send("/v1/chat/completions", {"model": "text/m", **messages_of(image)})
            assert (answer.status, answer.headers["x-helmdeck-model"]) == (200, "sees/m")


def test_file_of_a_stored_response_is_sent_again(gateway, servers):
    first = send(gateway, PDFS["responses"], "to-anthropic/m")
    again = {"model": "to-anthropic/m", "previous_response_id": first.body["id"], "input": "and?"}
    assert gateway.send("/v1/responses", again).status == 200
    assert servers["anthropic"].requests[1].body["messages"][0]["content"] == [SENT_PDF["anthropic"]]


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"type": "file", "file": {"file_id": 1}}, "messages[0].content[0].file.file_id"),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,?"}}, "messages[0].content[0].file.file_data"),
        ({"type": "file", "file": {"file_url": "ftp://host/t.pdf"}}, "messages[0].content[0].file.file_url"),
        ({"type": "file"}, "messages[0].content[0].file"),
        ({"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}, "messages[0].content[0].input_audio.data"),
        ({"type": "video_url"}, "messages[0].content[0].type"),
    ],
)  # fmt: skip
def test_malformed_file_is_refused_with_its_field(gateway, part, param):
    answer = gateway.send("/v1/chat/completions", {"model": "to-gemini/m", **messages_of(part)})
    assert (answer.status, answer.body["error"]["param"]) == (400, param)
