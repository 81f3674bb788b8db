"""Names the files that packs and pipelines wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helmdeck_core.cli import note


def note_file(artifact: Mapping[str, Any]) -> None:
    """Print the path and the size of an artifact to standard error; not wrapped, so that the path can be copied."""
    path, size = artifact.get("path"), artifact.get("bytes")
    if isinstance(path, str):
        note(f"{'file':<12}{path}" + (f" ({size:,} bytes)" if isinstance(size, int) else ""))
