"""An issuer of tokens without sockets, whose keys and documents a test changes, and tokens as clients forge them."""

import base64
import collections
import functools
import hashlib
import hmac
import json

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from helmdeck_gateway import Principal, Problem
from helmdeck_gateway.sign_in.authoriser import SignedTokens
from helmdeck_gateway.sign_in.key_set import FetchError
from helmdeck_gateway.sign_in.key_set import KeySet as IssuerKeys
from helmdeck_gateway.sign_in.settings import SignInSettings
from helmdeck_gateway.stores.memory import MemoryStore

ISSUER = "https://login.example"
JWKS_URL = f"{ISSUER}/keys"
DISCOVERY_URL = f"{ISSUER}/.well-known/openid-configuration"
NOW_S = 1_795_348_800.0
JOSE = ("RS256", "RS384", "PS256", "ES256", "ES384", "Ed25519")


@functools.cache
def ec(kid="ec", curve="P-256"):
    return ECKey.generate_key(curve, {"kid": kid})


@functools.cache
def rsa(kid="rsa"):
    return RSAKey.generate_key(2048, {"kid": kid})


@functools.cache
def okp(kid="okp"):
    return OKPKey.generate_key("Ed25519", {"kid": kid})


def b64(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims_of(**changes):
    claims = {"iss": ISSUER, "aud": "gateway", "sub": "ann", "iat": NOW_S, "exp": NOW_S + 600, **changes}
    return {name: value for name, value in claims.items() if value is not None}


def signed(payload, key=None, alg="ES256", **header):
    """A signed token; for bytes as the key, they are a shared secret."""
    key = key or ec()
    header = {"alg": alg, "kid": "rsa" if isinstance(key, bytes) else key.kid, "typ": "JWT", **header}
    header = {name: value for name, value in header.items() if value is not None}
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    # Header and payload are signed as they are, since a forger does not use a library that checks them.
    signing = f"{b64(header)}.{b64(data)}"
    if isinstance(key, bytes):
        signature = hmac.digest(key, signing.encode(), hashlib.sha256)
    else:
        name = "Ed25519" if alg == "EdDSA" else alg  # the newer name of the same signature
        signature = jws.JWSRegistry(algorithms=list(JOSE)).get_alg(name).sign(signing.encode(), key)
    return f"{signing}.{b64(signature)}"


def token(key=None, alg="ES256", header=None, **changes):
    """A token of the issuer; a claim of ``None`` is left out."""
    return signed(claims_of(**changes), key, alg, **(header or {}))


class Issuer:
    """Answers fetches.

    :ivar fetched: the URLs that were fetched.
    :ivar error: raised by the next fetches.
    """

    def __init__(self, *keys, **discovery):
        self.keys = list(keys) or [ec(), rsa()]
        self.discovery = {"issuer": ISSUER, "jwks_uri": JWKS_URL, **discovery}
        self.fetched = []
        self.error = None
        self.document = None

    async def fetch(self, url):
        self.fetched.append(url)
        if self.error is not None:
            raise FetchError(self.error)
        if url == DISCOVERY_URL:
            return self.discovery
        if self.document is not None:
            return self.document
        keys = [key if isinstance(key, dict | str) else key.as_dict(private=False) for key in self.keys]
        return {"keys": keys}


class SignIn:
    """The check of tokens with a clock of its own."""

    def __init__(self, issuer=None, store=None, otherwise=None, **settings):
        self.issuer = issuer or Issuer()
        self.store = store or MemoryStore()
        self.s = 0.0
        self.outcomes = collections.Counter()
        self.settings = SignInSettings(
            issuer=ISSUER, audience=("gateway",), **{"algorithms": ("ES256", "RS256"), **settings}
        )
        self.keys = IssuerKeys("company", self.settings, fetch=self.issuer.fetch, clock=lambda: self.s)
        self.tokens = SignedTokens(
            {"company": self.settings}, lambda: self.store, otherwise,
            key_sets={(ISSUER, self.settings.jwks_url): self.keys}, outcomes=self.outcomes,
            clock=lambda: self.s, now=lambda: NOW_S + self.s,
        )  # fmt: skip

    async def send(self, text) -> Principal | Problem:
        try:
            return await self.tokens.authorise({b"authorization": f"Bearer {text}".encode()})
        except Problem as problem:
            return problem

    @property
    def fetches(self):
        """Fetches of the keys, without those of the discovery document."""
        return self.issuer.fetched.count(JWKS_URL)
