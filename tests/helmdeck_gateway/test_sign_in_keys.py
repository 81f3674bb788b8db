"""New keys and new settings of an issuer: when they take effect, and when not."""

import asyncio
import json

import attrs
from joserfc import jws

from helmdeck_gateway.sign_in.authoriser import SignedTokens
from tests.case_support import each_case
from tests.helmdeck_gateway.sign_in_support import ISSUER, Issuer, SignIn, b64, claims_of, ec, token


@each_case("kid", ["ec", None])
def test_token_of_a_new_key_with_the_id_of_the_former_one_or_without_an_id_is_accepted_after_one_fetch(kid):
    def public(key):
        return {name: value for name, value in {**key.as_dict(private=False), "kid": kid}.items() if value is not None}

    async def run():
        sign_in = SignIn(Issuer(public(ec())), refetch_s=10, keys_s=600)
        before = await sign_in.send(token(header={"kid": kid}))
        sign_in.issuer.keys = [public(ec("next"))]
        rotated = [token(ec("next"), header={"kid": kid}, jti=number) for number in range(2)]
        sign_in.s = 9.0
        early, fetches = await sign_in.send(rotated[0]), sign_in.fetches
        sign_in.s = 10.0
        found = await asyncio.gather(*map(sign_in.send, rotated))
        forged = await sign_in.send(token(ec("other"), header={"kid": kid}))
        return before.caller, early.message, fetches, [each.caller for each in found], forged.message, sign_in.fetches

    before, early, fetches, found, forged, fetched = asyncio.run(run())
    assert (before, found) == ("ann@company", ["ann@company"] * 2)
    assert early == forged == "the token is refused: its signature is wrong"
    assert (fetches, fetched) == (1, 2)


def test_settings_of_a_configuration_that_is_read_and_not_used_change_nothing():
    async def run():
        sign_in = SignIn()
        other = attrs.evolve(sign_in.settings, audience=("other",), refetch_s=77.0)
        tokens = SignedTokens({"renamed": other}, lambda: sign_in.store, key_sets={(ISSUER, ""): sign_in.keys})
        before = await sign_in.send(token()), await sign_in.send(token(aud="other")), sign_in.keys.settings
        sign_in.tokens = tokens  # the reload succeeds
        return before, await sign_in.send(token(aud="gateway")), sign_in.keys.settings

    (accepted, refused, settings), changed, later = asyncio.run(run())
    assert accepted.caller == "ann@company"
    assert refused.message == "the token is refused: its audience has none of 'gateway'"
    assert changed.message == "the token is refused: its audience has none of 'other'"
    assert (settings.refetch_s, later.refetch_s) == (10.0, 77.0)


@each_case(
    ("discovery", "error"),
    [
        ({"issuer": f"{ISSUER}/"}, f"the discovery document has the issuer '{ISSUER}/', expected '{ISSUER}'"),
        ({"issuer": None}, f"the discovery document has the issuer None, expected '{ISSUER}'"),
        ({"jwks_uri": None}, "the discovery document has no jwks_uri"),
    ],
)
def test_discovery_document_that_does_not_fit_is_named_in_the_log(discovery, error):
    sign_in = SignIn(Issuer(**discovery))
    assert asyncio.run(sign_in.send(token())).code == "sign_in_unavailable"
    assert sign_in.keys.error == error


@each_case("start", [b"{", b"{ ", b"{\n\t", b"{\r\n"])
def test_token_whose_header_has_whitespace_is_read(start):
    header = start + json.dumps({"alg": "ES256", "kid": "ec"}).encode()[1:]
    text = f"{b64(header)}.{b64(claims_of())}"
    signature = jws.JWSRegistry(algorithms=["ES256"]).get_alg("ES256").sign(text.encode(), ec())
    assert asyncio.run(SignIn().send(f"{text}.{b64(signature)}")).caller == "ann@company"


def test_state_of_an_issuer_that_was_not_fetched_yet_is_unknown():
    sign_in = SignIn()
    assert sign_in.tokens.state() == {"company": {"keys": 0, "age_s": None, "is_reachable": None}}
    asyncio.run(sign_in.send(token()))
    assert sign_in.tokens.state() == {"company": {"keys": 2, "age_s": 0, "is_reachable": True}}
