"""The senders of batches and of responses in the background: their keys as they are now, at a cost that does not grow with all keys."""

import asyncio

import attrs
import pytest

from helmdeck_gateway import KeyRecord, Problem, create_key, edit_key, revoke_key
from helmdeck_gateway.accounts.changes import rotate_key
from helmdeck_gateway.accounts.keys import principal_of
from helmdeck_gateway.batches.batch import sender_of
from helmdeck_gateway.batches.own_requests import Senders
from helmdeck_gateway.stores.memory import MemoryStore


class CountingStore(MemoryStore):
    """A store that counts how often all of its keys are read."""

    lists = 0

    async def list_keys(self):
        self.lists += 1
        return await super().list_keys()


async def stored():
    store = CountingStore()
    made = await create_key(store, KeyRecord(name="ann", id="", digest="", caller="ann"))
    return store, sender_of(principal_of(made.record))


def found(store, sender):
    return Senders(lambda: store).principal(store, sender)


def test_sender_is_found_as_it_is_now_without_reading_all_keys():
    async def run():
        store, sender = await stored()
        await edit_key(store, "ann", lambda key: attrs.evolve(key, models=("fast",)))
        store.lists = 0
        return (await found(store, sender)).models, store.lists

    assert asyncio.run(run()) == ({"fast"}, 0)


@pytest.mark.parametrize("grace_s", [0.0, 60.0])
def test_sender_whose_key_was_rotated_is_the_same(grace_s):
    async def run():
        store, sender = await stored()
        for _ in range(2):
            await rotate_key(store, "ann", grace_s=grace_s)
        return (await found(store, sender)).caller

    assert asyncio.run(run()) == "ann"


def test_sender_whose_name_has_another_key_stays_refused():
    async def run():
        store, sender = await stored()
        await revoke_key(store, "ann")
        await create_key(store, KeyRecord(name="ann", id="", digest="", caller="ann"))
        with pytest.raises(Problem, match="was revoked"):
            await found(store, sender)

    asyncio.run(run())


def test_sender_of_an_earlier_release_is_found_by_the_id_of_its_key():
    async def run():
        store, sender = await stored()
        return (await found(store, type(sender)(caller="ann", key_id=sender.key_id))).caller

    assert asyncio.run(run()) == "ann"
