"""Encoded frames, and decks with a Bedrock server of the test."""

import json
import struct
from zlib import crc32

import pytest

import helmdeck_provider_bedrock

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAQ7ZR0WM4XC9TB2LD",
    "AWS_SECRET_ACCESS_KEY": "gN5Vf1Hs6Jp3Ya/uT8eKd2Lw9Xc4Bm7Qr0Zo5Pi",
    "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEJ3Ya1Hs6uT8eKd2Lw9Xc4Bm7Qr0",
}


def encode(event, data, kind="event", headers=()):
    payload = data if isinstance(data, bytes) else json.dumps(data).encode()
    texts = {":message-type": kind, f":{kind}-type": event, ":content-type": "application/json", **dict(headers)}
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in texts.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    body = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return body + struct.pack(">I", crc32(body))


@pytest.fixture(scope="session")
def frame():
    """Encode one frame."""
    return encode


@pytest.fixture(scope="session")
def text_frames():
    """Encode the frames of a text stream."""

    def stream(*texts, stop="end_turn", usage=None):
        deltas = [encode("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}}) for text in texts]
        return [
            encode("messageStart", {"role": "assistant"}),
            *deltas,
            encode("contentBlockStop", {"contentBlockIndex": 0}),
            encode("messageStop", {"stopReason": stop}),
            encode("metadata", {"usage": usage or {"inputTokens": 5, "outputTokens": 2}, "metrics": {"latencyMs": 1}}),
        ]

    return stream


@pytest.fixture
def keys(monkeypatch):
    """Set AWS credentials in the environment and remove all other AWS variables."""
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return KEYS


@pytest.fixture
def deck_at(deck_with, keys):
    """Create decks with Bedrock at a base URL."""

    def make(base_url, **settings):
        options = {"region": "eu-north-1", **settings.pop("options", {})}
        provider_settings = {"base_url": base_url, "options": options, **settings}
        return deck_with(helmdeck_provider_bedrock, config={"providers": {"bedrock": provider_settings}})

    return make
