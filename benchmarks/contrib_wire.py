"""Wire formats of the contributed providers for ``adapters``."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

for _name in ("bedrock", "cohere"):
    # They are distributions of their own; where they are installed, this finds the same code.
    sys.path.append(str(Path(__file__).parents[1] / "contrib_providers" / _name / "src"))

import helmdeck_provider_bedrock  # noqa: E402
import helmdeck_provider_cohere  # noqa: E402
from helmdeck_provider_bedrock.provider import make_wire_format as converse  # noqa: E402
from helmdeck_provider_cohere.wire_format import make_wire_format as cohere  # noqa: E402

PLUGINS = (helmdeck_provider_bedrock, helmdeck_provider_cohere)
CONVERSE, COHERE = converse(), cohere()


def frames(event: Mapping[str, Any]) -> Iterator[bytes]:
    """An event of Converse as the frame that it was.

    The stream of ``invoke`` wraps each event of a Nova model once more, and puts flags beside it; inside it has the same form,
    which is all that is read of it.
    """
    inner = event["data"] if event["event"] == "chunk" else {event["event"]: event["data"]}
    for name, data in inner.items():
        if isinstance(data, dict):
            yield _frame(name, json.dumps(data).encode())


def _frame(name: str, payload: bytes) -> bytes:
    kind = "exception" if name.endswith("Exception") else "event"
    headers = b"".join(
        struct.pack(">B", len(key)) + key.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for key, value in ((":message-type", kind), (f":{kind}-type", name))
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return body + struct.pack(">I", crc32(body))
