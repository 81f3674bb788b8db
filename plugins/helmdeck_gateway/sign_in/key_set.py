"""The keys of an issuer: fetched by one request at a time, kept while the issuer does not answer, and selected for a token."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from helmdeck_core.log import logger
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.sign_in.settings import KEY_TYPES, SignInSettings, is_fetchable

if TYPE_CHECKING:
    from jwt import PyJWK

FETCH_S: Final = 10.0
"""Seconds for all requests of one fetch."""

MAX_BYTES: Final = 256_000
"""Size of a document of an issuer."""

MAX_KEYS: Final = 100
RSA_BITS: Final = range(2_048, 8_193)
"""Sizes of RSA keys: shorter ones can be factored, longer ones take long."""

DISCOVERY: Final = "/.well-known/openid-configuration"
CURVES: Final[Mapping[str, str]] = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}

Fetch = Callable[[str], Awaitable[Any]]
"""Returns the JSON document of a URL."""


class FetchError(Exception):
    """The keys of an issuer could not be fetched; the message is for the log of the operator."""


@attrs.frozen(eq=False)
class SigningKey:
    """A public key of an issuer."""

    data: Mapping[str, Any] = attrs.field(repr=False)
    by_algorithm: dict[str, PyJWK] = attrs.field(factory=dict, repr=False)

    @property
    def kid(self) -> str | None:
        """The id of the key."""
        return self.data.get("kid")

    def fits(self, algorithm: str) -> bool:
        """Return whether the key may verify signatures of an algorithm."""
        data = self.data
        is_same = data.get("alg") in (None, algorithm) and data.get("kty") == KEY_TYPES[algorithm]
        return is_same and CURVES.get(algorithm) in (None, data.get("crv"))

    def for_algorithm(self, algorithm: str) -> PyJWK:
        """Return the key for the library."""
        from jwt import PyJWK

        if algorithm not in self.by_algorithm:
            self.by_algorithm[algorithm] = PyJWK(dict(self.data), algorithm)
        return self.by_algorithm[algorithm]


class KeySet:
    """The keys of one issuer.

    :param fetch: fetches a document.
    :ivar settings: those of the issuer, for fetches; the gateway that serves after a reload replaces them.
    :ivar error: why the last fetch failed; empty if it succeeded.
    :ivar fetches: successful and failed fetches.
    """

    def __init__(
        self,
        name: str,
        settings: SignInSettings,
        *,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.settings = settings
        self.error: str = ""
        self.fetches: collections.Counter[str] = collections.Counter()
        self._fetch = fetch or fetch_document
        self._clock = clock
        self._keys: tuple[SigningKey, ...] = ()
        self._fetched_s: float | None = None
        self._attempted_s: float | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def age_s(self) -> float | None:
        """Seconds since the keys were fetched; ``None`` while there are none."""
        return None if self._fetched_s is None else self._clock() - self._fetched_s

    def __len__(self) -> int:
        return len(self._keys)

    async def find(self, kid: str | None, algorithm: str) -> Sequence[SigningKey]:
        """Return the keys that may have signed a token: all of its id, or the only one that fits.

        An unknown id causes a fetch, since the issuer may have a new key.

        :raises Problem: the issuer does not answer, and no usable keys are known.
        """
        await self.refresh()
        found = self._matching(kid, algorithm)
        if not found and self._may_fetch():
            await self._join()
            found = self._matching(kid, algorithm)
        return found

    async def find_new(self, kid: str | None, algorithm: str) -> Sequence[SigningKey]:
        """Return the keys for a token that no key of ``find`` has signed, after a fetch; none if it is too early for one.

        An issuer may publish its next key under the id of the former one, or without an id.
        """
        if not self._may_fetch():
            return ()
        await self._join()
        return self._matching(kid, algorithm)

    async def refresh(self) -> None:
        """Fetch the keys if they are too old; in the background, while they may be used.

        :raises Problem: the issuer does not answer, and no usable keys are known.
        """
        if not self._is_usable() and self._may_fetch():
            await self._join()
        if not self._is_usable():
            raise Problem(
                message=f"the gateway cannot fetch the keys of the issuer {self.name!r}, so no token of it can be checked",
                status=503, kind="overloaded_error", code="sign_in_unavailable", is_worth_retrying=True,
                retry_after_s=max(1.0, self.settings.refetch_s),
            )  # fmt: skip
        if (self.age_s or 0.0) >= self.settings.keys_s and self._may_fetch():
            self._start()

    def has(self, key: SigningKey) -> bool:
        """Return whether a key is still one of the issuer."""
        return key in self._keys

    async def aclose(self) -> None:
        """Stop a fetch that is under way."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _is_usable(self) -> bool:
        return self.age_s is not None and self.age_s < self.settings.stale_s

    def _may_fetch(self) -> bool:
        is_running = self._task is not None and not self._task.done()
        before_s = self._attempted_s
        return is_running or before_s is None or self._clock() >= before_s + self.settings.refetch_s

    def _matching(self, kid: str | None, algorithm: str) -> Sequence[SigningKey]:
        fitting = [key for key in self._keys if key.fits(algorithm)]
        if kid is not None:
            return [key for key in fitting if key.kid == kid]
        return fitting if len(fitting) == 1 else ()

    def _start(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done():
            self._attempted_s = self._clock()
            self._task = asyncio.create_task(self._update())
        return self._task

    async def _join(self) -> None:
        """Wait for a fetch that all callers share; one that is cancelled leaves it running."""
        task = self._start()
        await asyncio.wait([task])

    async def _update(self) -> None:
        try:
            async with asyncio.timeout(FETCH_S):
                keys = await self._load()
        except Exception as exc:  # a library may raise anything for what an issuer sends
            self.error = f"{type(exc).__name__}: {exc}"[:300] if not isinstance(exc, FetchError) else str(exc)
            self.fetches["failed"] += 1
            age = "none are known" if self.age_s is None else f"those of {self.age_s:.0f} s ago are used"
            logger().warning("the keys of the issuer {} could not be fetched ({}): {}", self.name, age, self.error)
            return
        former = {json.dumps(key.data, sort_keys=True): key for key in self._keys}
        # A key that stays is the same object, so that tokens it has verified stay verified.
        self._keys = tuple(former.get(json.dumps(data, sort_keys=True)) or SigningKey(data) for data in keys)
        self._fetched_s, self.error = self._clock(), ""
        self.fetches["successful"] += 1
        if not keys:
            logger().warning("the issuer {} publishes no key that can be used, so its tokens are refused", self.name)

    async def _load(self) -> Sequence[Mapping[str, Any]]:
        url: Any = self.settings.jwks_url
        if not url:
            document = await self._fetch(self.settings.issuer.rstrip("/") + DISCOVERY)
            url = document.get("jwks_uri") if isinstance(document, Mapping) else None
            if not isinstance(url, str):
                raise FetchError("the discovery document has no jwks_uri")
            if (issuer := document.get("issuer")) != self.settings.issuer:
                shown = repr(issuer)[:200]
                raise FetchError(f"the discovery document has the issuer {shown}, expected {self.settings.issuer!r}")
            if not is_fetchable(url):
                raise FetchError("the discovery document has a jwks_uri that is not https://")
        document = await self._fetch(url)
        keys = document.get("keys") if isinstance(document, Mapping) else None
        if not isinstance(keys, list):
            raise FetchError("the document of the keys has no list 'keys'")
        return [key for key in keys[:MAX_KEYS] if is_verification_key(key)]


def is_verification_key(data: Any) -> bool:
    """Return whether a JSON Web Key is a public key for signatures that the library accepts."""
    from jwt import PyJWK, PyJWTError

    if not isinstance(data, dict) or data.get("kty") not in KEY_TYPES.values() or "d" in data:
        return False
    operations = data.get("key_ops", ["verify"])
    is_for_signatures = data.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    if not is_for_signatures or not isinstance(data.get("kid", ""), str):
        return False
    try:
        key = PyJWK({name: value for name, value in data.items() if name != "alg"}).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        return False
    return data["kty"] != "RSA" or getattr(key, "key_size", 0) in RSA_BITS


async def fetch_document(url: str) -> Any:
    """Return the JSON document of a URL; redirects are not followed.

    :raises FetchError: there is none.
    """
    import httpx2

    try:
        async with (
            httpx2.AsyncClient(timeout=FETCH_S) as client,
            client.stream(
                "GET", url, headers={"accept": "application/json", "accept-encoding": "identity"}
            ) as response,
        ):
            if response.status_code != 200:
                raise FetchError(f"{url} responded with HTTP {response.status_code}")
            data = bytearray()
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise FetchError(f"the document of {url} is larger than {MAX_BYTES:,} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as exc:
        raise FetchError(f"{url}: {type(exc).__name__}: {exc}"[:300]) from exc
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise FetchError(f"the document of {url} is not JSON") from None
