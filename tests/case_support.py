"""Many small cases in one test: pytest takes some 5 ms for a test of its own, which is more than most of them take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each_case(
    names: str | Sequence[str], cases: Iterable[Any], ids: Iterable[str] | Callable[[Any], Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``pytest.mark.parametrize``, but run all cases as one test, which reports every case that fails.

    For functions that leave no state behind: fixtures are made once for all cases.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_values(case, len(keys)) for case in cases]
    assert table, "there are no cases"
    labels = [str(each) for each in ids] if ids is not None and not callable(ids) else None
    assert labels is None or len(labels) == len(table)

    def label(number: int) -> str:
        return labels[number] if labels else repr(table[number])[:200]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run_all(**fixtures: Any) -> None:
            failures: list[Exception] = []
            for number, row in enumerate(table):
                try:
                    function(**fixtures, **dict(zip(keys, row, strict=True)))
                except (pytest.fail.Exception, pytest.skip.Exception) as exc:  # a skip would hide the other cases
                    failures.append(AssertionError(f"case {label(number)}: {exc}"))
                except Exception as exc:
                    exc.add_note(f"case {label(number)}")
                    failures.append(exc)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} cases failed", failures)

        signature = inspect.signature(function)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        run_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run_all

    return decorate


def _values(case: Any, count: int) -> Sequence[Any]:
    if isinstance(case, type(pytest.param())):
        return case.values
    if count == 1:
        return (case,)
    assert len(case) == count, f"{case!r} has not {count} values"
    return tuple(case)
