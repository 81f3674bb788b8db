"""llama.cpp's two servers with tiny generated models; tests are skipped if a server is not installed."""

from __future__ import annotations

import contextlib

import pytest

from benchmarks.real_servers.server import PROGRAMS, serve


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """Start a server with a kind of model once; returns its base URL."""
    folder = tmp_path_factory.mktemp("models")
    running = {}

    def start(program, kind, *, context):
        if PROGRAMS[program].path() is None:
            pytest.skip(PROGRAMS[program].missing())
        key = program, kind, context
        if key not in running:
            running[key] = stack.enter_context(serve(PROGRAMS[program], kind, folder, context=context))
        return running[key]

    with contextlib.ExitStack() as stack:
        yield start


@pytest.fixture(params=PROGRAMS)
def any_server(request, served):
    """Each of the two servers."""
    return lambda kind, *, context: served(request.param, kind, context=context)


@pytest.fixture
def llama_server(served):
    """The C++ server."""
    return lambda kind, *, context: served("llama-server", kind, context=context)


@pytest.fixture
def llama_cpp_python(served):
    """The Python server."""
    return lambda kind, *, context: served("llama-cpp-python", kind, context=context)
