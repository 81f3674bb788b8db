"""Converts a PPTX file to PDF with LibreOffice, and to one PNG picture per slide with Poppler."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

PICTURE_WIDTH: Final = 1920
"""Pixels; the height is 1080."""

INSTALL: Final = "apt-get install libreoffice-impress poppler-utils"


@attrs.frozen
class ConversionError(Exception):
    """A conversion failed.

    :ivar is_timeout: the time limit was exceeded.
    """

    detail: str
    is_timeout: bool = False

    def __str__(self) -> str:
        return self.detail


async def convert_to_pdf(pptx: Path, timeout_s: float) -> None:
    """Convert a presentation to a PDF beside it.

    :raises ConversionError: LibreOffice is not installed, failed, or took too long.
    """
    folder = pptx.parent
    # A profile of its own: otherwise the conversion runs in a LibreOffice that is open already.
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    options = ["--headless", "--norestore", "--convert-to", "pdf", "--outdir", str(folder), str(pptx)]
    await _run(["soffice", profile, *options], folder, timeout_s)
    if not pptx.with_suffix(".pdf").is_file():
        raise ConversionError("LibreOffice wrote no PDF; is libreoffice-impress installed?")


async def draw_pictures(pdf: Path, timeout_s: float) -> Sequence[Path]:
    """Draw the pages of a PDF as PNG pictures beside it, 1920 pixels wide, in their order.

    :raises ConversionError: Poppler is not installed, failed, or took too long.
    """
    size = ["-scale-to-x", str(PICTURE_WIDTH), "-scale-to-y", "-1"]
    await _run(["pdftoppm", "-png", *size, str(pdf), str(pdf.parent / "slide")], pdf.parent, timeout_s)
    return sorted(pdf.parent.glob("slide-*.png"), key=lambda path: int(path.stem.rpartition("-")[2]))


async def _run(argv: Sequence[str], folder: Path, timeout_s: float) -> None:
    """Run a program without a shell; it and its children are killed at the timeout, and when the caller is cancelled."""
    null = asyncio.subprocess.DEVNULL
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=null, stdout=null, stderr=null, cwd=folder, env={**environment, "HOME": str(folder)},
            start_new_session=os.name == "posix",
        )  # fmt: skip
    except FileNotFoundError:
        advice = f"on Debian, {INSTALL} installs it" if sys.platform == "linux" else "install LibreOffice and Poppler"
        raise ConversionError(f"{argv[0]} is not installed; {advice}") from None
    try:
        async with asyncio.timeout(timeout_s):
            code = await process.wait()
    except TimeoutError:
        raise ConversionError(f"{argv[0]} took longer than timeout_s, {timeout_s:g} s", is_timeout=True) from None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        await process.wait()
    if code:
        raise ConversionError(f"{argv[0]} failed with exit code {code}")
