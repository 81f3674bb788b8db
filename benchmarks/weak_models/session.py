"""What all tasks share: the proxied server, the model, the limits of a case, and Helmdeck's configuration of the model."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import httpx

from benchmarks.weak_models.proxy import TIME_IS_OVER, Proxy
from benchmarks.weak_models.results import Result
from helmdeck_core import CallFailed, Catalog, Helmdeck

TEMPERATURE = 0.2
"""Low, as for structured work, and above 0, so that the runs differ."""

OUT_OF_TIME = "out of time"
"""The cause of a case that took longer than it may."""


@attrs.frozen(kw_only=True)
class Found:
    """What a way returned for a case, before it is compared with what is right.

    :ivar value: a tool's name, a typed value, or a text; ``None`` without a usable answer.
    :ivar cause: why there is none.
    """

    value: Any = None
    cause: str = ""
    answer: str = ""
    detail: Mapping[str, Any] = attrs.field(factory=dict)


def _nothing() -> None:
    """Leave a server alone that was not started here."""


@attrs.define(kw_only=True)
class Session:
    """One model on one server.

    :ivar model: the name that the server knows the model by.
    :ivar provider: Helmdeck's name of the kind of the server.
    :ivar row: the budget row of the model, as the product proposes it.
    :ivar request_s: seconds for one case.
    :ivar folder: a folder for catalog files.
    :ivar gguf: the file of the model, where it is here; ``libraries`` is the folder of llama.cpp's shared libraries.
    :ivar threads: threads for a model that is read in process.
    :ivar keep_alive: called before each case; starts a server again that has ended.
    """

    proxy: Proxy
    model: str
    provider: str
    row: Mapping[str, Any]
    request_s: float = 120.0
    folder: Path
    gguf: Path | None = None
    libraries: Path | None = None
    threads: int = 1
    keep_alive: Callable[[], None] = _nothing
    _decks: dict[tuple[str, str], Helmdeck] = attrs.field(factory=dict, init=False)

    @property
    def model_id(self) -> str:
        """The id of the model in Helmdeck."""
        return f"{self.provider}/{self.model}"

    def deck(self, catalog: Catalog | None = None, **row: Any) -> Helmdeck:
        """Return a deck for the model over a catalog.

        :param row: fields of the budget row in place of the proposed ones.
        """
        overrides: dict[tuple[str, ...], Any] = {
            ("model",): self.model_id,
            ("providers", self.provider): {"base_url": self.proxy.base_url, "timeout_s": 600},
            ("budgets", self.model_id): {**self.row, **row},
        }
        if catalog is not None:
            file = self.folder / f"{catalog.version}.json"
            file.write_bytes(catalog.encode())
            overrides["catalog", "sources"] = [str(file)]
        return Helmdeck(overrides=overrides, environ={}, autoload=False)

    def shared_deck(self, catalog: Catalog, **row: Any) -> Helmdeck:
        """Return the one deck for a catalog and a row, with its ranking index built; ``close`` closes it."""
        key = catalog.version, json.dumps(row, sort_keys=True)
        if key not in self._decks:
            deck = self._decks[key] = self.deck(catalog, **row)
            deck.rank("warm up")
        return self._decks[key]

    def close(self) -> None:
        """Close the shared decks."""
        for deck in self._decks.values():
            deck.close()
        self._decks.clear()

    def chat(self, body: Mapping[str, Any]) -> tuple[str, str]:
        """Send a plain request, as a program without a library does; return the text and the cause of a failure."""
        try:
            answer = httpx.post(
                f"{self.proxy.base_url}/chat/completions",
                json={"model": self.model, **body},
                timeout=None,
                trust_env=False,
            )
            payload = answer.json()
            if answer.status_code != 200:
                return "", cause_of(json.dumps(payload))
            (choice,) = payload["choices"]
            return choice["message"].get("content") or "", "cut" if choice["finish_reason"] == "length" else ""
        except (httpx.HTTPError, ValueError, KeyError) as exc:
            return "", type(exc).__name__

    def measure(
        self,
        task: str,
        way: str,
        case: str,
        run: int,
        do: Callable[[], Found],
        judge: Callable[[Found], Mapping[str, Any]],
        temperature: float = TEMPERATURE,
    ) -> Result:
        """Do one case; return its result with the counted calls, tokens and seconds.

        :param judge: what to set in the result for what was found: ``valid``, ``right``, ``invented``, ``cause``.
        """
        self.keep_alive()
        window = self.proxy.begin(seed=run, temperature=temperature, seconds=self.request_s)
        start = time.perf_counter()
        try:
            found = do()
        except CallFailed as exc:
            found = Found(cause=f"{exc.failure_class.value}/{exc.sub_cause}".rstrip("/"), answer=str(exc))
        seconds = time.perf_counter() - start
        judged = dict(judge(found))
        if (window.is_late or seconds >= self.request_s) and not judged.get("right"):
            judged["cause"] = OUT_OF_TIME
        counted = Result(
            task=task,
            way=way,
            case=case,
            run=run,
            calls=window.calls,
            prompt_tokens=window.prompt_tokens,
            output_tokens=window.output_tokens,
            seconds=seconds,
            answer=found.answer[:400],
            detail=dict(found.detail),
        )
        return attrs.evolve(counted, **judged)


@contextlib.contextmanager
def opened(make: Callable[[Session], Any], session: Session) -> Iterator[Any]:
    """Open a way for the duration of a ``with`` block; a way is a function of a case, perhaps with ``prepare`` and ``close``."""
    way = make(session)
    try:
        yield way
    finally:
        if hasattr(way, "close"):
            way.close()


def cause_of(message: str) -> str:
    """Return a short cause for a message of a server or a library."""
    if TIME_IS_OVER in message:
        return OUT_OF_TIME
    if "context" in message and ("exceed" in message or "length" in message):
        return "prompt over the context window"
    return "error of the server"
