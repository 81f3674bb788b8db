"""The voice engine of the tests."""

import pytest

from contrib_packs.av.tests.media_support import Engine
from helmdeck_pack_av import voices


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """The engine ``test`` in place of all others, and a data directory of its own."""
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    engine = Engine()
    monkeypatch.setattr(voices, "_load", lambda: ({"test": engine.contributed()}, []))
    return engine
