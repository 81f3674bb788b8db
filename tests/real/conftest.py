"""llama.cpp's two servers with models that a few lines make; where there is none, what needs it is skipped and says so."""

from __future__ import annotations

import contextlib

import pytest

from benchmarks.real_servers.serving import PROGRAMS, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """Start a server with a kind of model once; returns its base URL."""
    folder = tmp_path_factory.mktemp("models")
    running = {}

    def start(program, kind, *, context):
        if PROGRAMS[program].path() is None:
            pytest.skip(PROGRAMS[program].missing())
        wanted = program, kind, context
        if wanted not in running:
            running[wanted] = stack.enter_context(serving(PROGRAMS[program], kind, folder, context=context))
        return running[wanted]

    with contextlib.ExitStack() as stack:
        yield start


@pytest.fixture(params=PROGRAMS)
def any_server(request, served):
    """The same of each of the two servers."""
    return lambda kind, *, context: served(request.param, kind, context=context)


@pytest.fixture
def llama_server(served):
    """The server in C++."""
    return lambda kind, *, context: served("llama-server", kind, context=context)


@pytest.fixture
def llama_cpp_python(served):
    """The server in Python."""
    return lambda kind, *, context: served("llama-cpp-python", kind, context=context)
