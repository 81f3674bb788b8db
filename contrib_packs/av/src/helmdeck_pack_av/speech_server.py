"""The voice engine ``speech-server``: any server with the API ``/v1/audio/speech``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from helmdeck_core import SecretRef, non_empty, read_options, shown_url
from helmdeck_pack_av.options import TABLE
from helmdeck_pack_av.voices import Speech, VoiceEngine, VoiceError, voice_hookimpl

NAME: Final = "speech-server"
MAX_BYTES: Final = 50_000_000
"""Of one clip: about 17 minutes of 24 kHz mono."""


@attrs.frozen(kw_only=True)
class ServerOptions:
    """Options of ``[packs.options.av.engine_options]`` for ``speech-server``.

    :ivar url: the URL up to and with ``/v1``.
    :ivar model: the model that speaks.
    :ivar key: the API key; left out for a server without keys.
    """

    url: str = attrs.field(validator=non_empty)
    model: str = attrs.field(validator=non_empty)
    key: SecretRef | None = None


def voices(_: str) -> tuple[str, str]:
    """Return the voices of the two hosts: names that most servers of this API have."""
    return "alloy", "nova"


async def speak(speech: Speech, target: Path) -> None:
    """Request the sound of a text.

    :raises ConfigError: the options are not valid.
    :raises VoiceError: the server cannot be reached, or its response has no sound.
    """
    import httpx2

    options = read_options(speech.options, ServerOptions, "packs", "options", TABLE, "engine_options")
    headers: dict[str, str] = {}
    if options.key is not None:
        key = options.key.read()
        if not key:
            raise VoiceError(f"the API key {options.key} is not set", is_invalid=True)
        headers["authorization"] = f"Bearer {key}"
    url = f"{options.url.rstrip('/')}/audio/speech"
    body = {"model": options.model, "voice": speech.voice, "input": speech.text, "response_format": "wav"}
    try:
        async with (
            httpx2.AsyncClient(timeout=speech.timeout_s) as client,
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            size = 0
            with target.open("wb") as file:
                async for chunk in response.aiter_bytes():
                    size += len(chunk)
                    if size > MAX_BYTES:
                        raise VoiceError(f"{NAME}: the response exceeds {MAX_BYTES:,} bytes")
                    file.write(chunk)
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        raise VoiceError(f"{NAME}: no response from {shown_url(url)}: {type(exc).__name__}") from None
    if response.status_code != 200:
        # The body is not quoted: it may repeat the request with its key.
        is_invalid = response.status_code in (400, 404, 422)
        raise VoiceError(f"{NAME}: HTTP status {response.status_code} from {shown_url(url)}", is_invalid=is_invalid)


@voice_hookimpl
def voice_engines() -> Sequence[VoiceEngine]:
    """The engine."""
    return (VoiceEngine(name=NAME, speak=speak, voices=voices),)
