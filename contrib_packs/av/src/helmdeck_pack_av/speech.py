"""Speaks texts: several clips at once, with a cache of finished clips, so that a resumed run continues where it ended."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs
import msgspec

from helmdeck_core import data_directory
from helmdeck_pack_av.options import AvOptions
from helmdeck_pack_av.sound import Clip, as_clip
from helmdeck_pack_av.voices import Speech, VoiceEngine

AT_ONCE: Final = 2
"""Clips that are spoken at once: a program per core of a small machine, and polite to a server."""


class ClipCache:
    """Finished clips by the hash of what was spoken. They contain what the texts contain, so only their owner can read them.

    :param folder: created with the first clip.
    :param max_bytes: the oldest clips above it are removed; 0 keeps none.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    def read(self, key: str, target: Path) -> bool:
        """Make a finished clip available under a path of the run; return whether there is one."""
        source = self.folder / f"{key}.wav"
        try:
            os.utime(source)
            # A link: the clip stays readable if another run removes it from the cache.
            os.link(source, target)
        except FileNotFoundError:
            return False
        except OSError:  # another file system
            with contextlib.suppress(OSError):
                shutil.copyfile(source, target)
                return True
            return False
        return True

    def write(self, key: str, clip: Path) -> None:
        """Keep a clip. Without space on the disk, the run continues and nothing is kept."""
        if not self.max_bytes:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = self.folder / f".{secrets.token_hex(8)}.part"
            try:
                shutil.copyfile(clip, draft)
                draft.chmod(0o600)
                draft.replace(self.folder / f"{key}.wav")
            finally:
                draft.unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove the oldest clips above the limit."""
        found = []
        for path in self.folder.glob("*.wav"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        size = 0
        for _, bytes_, path in sorted(found, reverse=True):
            size += bytes_
            if size > self.max_bytes:
                path.unlink(missing_ok=True)


@attrs.frozen
class Speaker:
    """Speaks texts with one engine.

    :ivar folder: of the run, for the clips.
    """

    engine: VoiceEngine
    options: AvOptions
    language: str
    folder: Path
    progress: Callable[[str, float | None], None]

    async def speak(self, texts: Sequence[tuple[str, str]], share: float = 1.0) -> list[Clip]:
        """Speak texts with their voices; return one clip of the same rate for each.

        The first failure ends the clips that are under way; finished ones are kept for the next run.

        :param share: of the work of the run.
        :raises VoiceError: the engine cannot speak a text.
        :raises SoundError: what it wrote is not sound.
        """
        cache = ClipCache(data_directory() / "voices", self.options.cache_bytes)
        places, done = asyncio.Semaphore(AT_ONCE), 0

        async def one(number: int, text: str, voice: str) -> Clip:
            nonlocal done
            async with places:
                clip = await self._clip(cache, self.folder / f"clip-{number}.wav", text, voice)
            done += 1
            self.progress(f"spoke {done:,} of {len(texts):,} clips", share * done / len(texts))
            return clip

        tasks = [asyncio.create_task(one(number, *each)) for number, each in enumerate(texts)]
        try:
            clips = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            cache.prune()
        rate = max((clip.rate for clip in clips), default=0)
        return [clip if clip.rate == rate else await as_clip(clip.path, self.options.timeout_s, rate) for clip in clips]

    async def _clip(self, cache: ClipCache, target: Path, text: str, voice: str) -> Clip:
        options = self.options
        spoken = [self.engine.name, dict(options.engine_options), self.language, voice, text]
        key = hashlib.sha256(msgspec.json.encode(spoken, order="sorted")).hexdigest()
        if cache.read(key, target):
            return await as_clip(target, options.timeout_s)
        speech = Speech(
            text=text,
            language=self.language,
            voice=voice,
            options=options.engine_options,
            timeout_s=options.timeout_s,
        )
        await self.engine.speak(speech, target)
        clip = await as_clip(target, options.timeout_s)
        cache.write(key, target)
        return clip
