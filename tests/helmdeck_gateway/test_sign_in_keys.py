"""New settings of an issuer: when they take effect, and when not."""

import asyncio

import attrs

from helmdeck_gateway.sign_in.authoriser import SignedTokens
from tests.helmdeck_gateway.sign_in_support import ISSUER, SignIn, token


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
