"""A command of Helmdeck that reports its memory at SIGUSR1: what is allocated, and what the allocator holds beyond that.

python -m benchmarks.gateway_memory FILE serve --port 0       # appends a line of JSON to FILE at each signal
"""

from __future__ import annotations

import ctypes
import gc
import json
import signal
import sys
from pathlib import Path

from helmdeck_core.cli import main


class MallocInfo(ctypes.Structure):
    """The result of ``mallinfo2`` of the GNU C library."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def facts() -> dict[str, int]:
    """Return the memory blocks of Python, and the KB that are allocated and free in the heap of the C library."""
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = MallocInfo
    info = library.mallinfo2()
    return {
        "blocks": sys.getallocatedblocks(),
        "used_kb": (info.uordblks + info.hblkhd) // 1024,
        "free_kb": info.fordblks // 1024,
    }


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))

    def report(*_: object) -> None:
        """Append a line."""
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(facts()) + "\n")

    signal.signal(signal.SIGUSR1, report)
    sys.exit(main())
