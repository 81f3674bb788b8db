"""NumPy on one thread.

The matrices of a request are small: several threads are no faster, and wait for each other where processors are busy. On a
loaded machine one sentence took 55 ms with the threads of the library and 1.5 ms without.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from contextlib import AbstractContextManager
from typing import Any


@functools.cache
def _controller() -> Any:
    """Return the thread pools of the loaded libraries; ``None`` without ``threadpoolctl``. Finding them takes 5 ms."""
    import numpy  # noqa: F401 (its library must be loaded before it can be found)

    try:
        threadpoolctl = importlib.import_module("threadpoolctl")  # it has no types
    except ImportError:
        return None
    return threadpoolctl.ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Run the block with one thread."""
    controller = _controller()
    if controller is None:
        return contextlib.nullcontext()
    limited: AbstractContextManager[object] = controller.limit(limits=1, user_api="blas")
    return limited
