"""Packs that make and check sound and film, and the hook of voice engines.

- **In**: texts, scripts, outlines, audio and video files.
- **Out**: MP3 and MP4 files with findings about them.
- **Hooks**: ``helmdeck_packs``; its own hook is ``voice_engines``, for entry points of the group ``helmdeck_pack_av``.
- **Begin** with ``podcast`` and ``narrate`` (the packs that make), ``validate`` (the pack that checks) and ``voices`` (the hook).
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, hookimpl
from helmdeck_pack_av import narrate, podcast, validate
from helmdeck_pack_av.voices import Speech, VoiceEngine, VoiceError, voice_hookimpl

__all__ = ["Speech", "VoiceEngine", "VoiceError", "voice_hookimpl"]


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The packs."""
    return (validate.PACK, podcast.PACK, narrate.PACK)
