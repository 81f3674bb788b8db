"""Lists of tools are kept in the data directory; here, no test sees those of another one."""

import pytest


@pytest.fixture(autouse=True)
def _own_data_directory(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path_factory.mktemp("data")))
