"""Vectors on disk, by the hash of their text: a catalog that has not changed is not embedded again.

One file per model. It is readable by its owner only, is replaced as a whole, and holds hashes and numbers, no text. A file
that cannot be read is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helmdeck_core.log import logger
from helmdeck_storage import cache_directory, replace_private_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERSION: Final = 1
_DIGEST_BYTES: Final = 16
# 50 MB for vectors of 512 numbers; beyond this, only the texts of the latest catalog are kept.
_MAX_TEXTS: Final = 50_000


def cache_folder(configured: str) -> Path:
    """Return the directory of the cache: the configured one, else the user's cache directory."""
    return Path(configured).expanduser() if configured else cache_directory("vectors")


def text_key(text: str) -> bytes:
    """Return the key of a text in the cache."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()


class VectorStore:
    """The cache files of a directory; best effort, since everything in them can be computed again.

    :param folder: created at the first write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, source: str) -> dict[bytes, NDArray[Any]]:
        """Return the vectors of a source by text key; empty where no valid file exists."""
        try:
            # NumPy leaves a file open that is no archive.
            content = io.BytesIO(self._path(source).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                version, name = int(file["version"]), str(file["source"])
                keys, vectors = file["keys"], file["vectors"]
        except FileNotFoundError:
            return {}
        except Exception as exc:  # a damaged archive raises almost anything
            logger().bind(error=f"{type(exc).__name__}: {exc}").warning("the vector cache is ignored")
            return {}
        is_valid = (
            (version, name) == (_VERSION, source)
            and keys.dtype == np.uint8
            and vectors.dtype == np.float16
            and keys.shape == (len(vectors), _DIGEST_BYTES)
            and vectors.ndim == 2
            and bool(np.isfinite(vectors).all())
        )
        if not is_valid:
            logger().bind(error="its content is not valid").warning("the vector cache is ignored")
            return {}
        return {key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)}

    def save(self, source: str, known: Mapping[bytes, NDArray[Any]], latest: Sequence[bytes]) -> None:
        """Replace the file of a source.

        :param latest: the keys that are kept if there are too many.
        """
        keys = list(known) if len(known) <= _MAX_TEXTS else list(dict.fromkeys(latest))[:_MAX_TEXTS]
        with contextlib.suppress(OSError):
            replace_private_file(
                self._path(source),
                lambda file: np.savez(
                    file,
                    version=np.array(_VERSION),
                    source=np.array(source),
                    keys=np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), _DIGEST_BYTES),
                    vectors=np.stack([known[key] for key in keys]).astype(np.float16),
                ),
            )

    def _path(self, source: str) -> Path:
        name = hashlib.blake2b(f"{_VERSION} {source}".encode(), digest_size=8).hexdigest()
        return self._folder / f"{name}.npz"
