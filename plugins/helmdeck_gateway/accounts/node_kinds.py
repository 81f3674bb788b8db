"""What keys and teams have in common for those who list, edit and revoke them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from helmdeck_gateway.accounts.changes import (
    Actor,
    edit_key,
    edit_team,
    revoke_key,
    revoke_team,
)
from helmdeck_gateway.accounts.node_fields import key_data, team_data
from helmdeck_gateway.accounts.visibility import visible_keys, visible_teams
from helmdeck_gateway.stores.records import KeyRecord, TeamRecord
from helmdeck_gateway.stores.store import GatewayStore

Record = TypeVar("Record", KeyRecord, TeamRecord)


@attrs.frozen
class NodeKind(Generic[Record]):
    """Keys or teams.

    :ivar word: ``key`` or ``team``.
    :ivar visible: returns those of a team and of the teams below it.
    :ivar edit: changes the fields of one.
    :ivar revoke: revokes one.
    :ivar data: returns one as plain data.
    """

    word: str
    visible: Callable[[GatewayStore, str], Awaitable[Sequence[Record]]]
    edit: Callable[[GatewayStore, str, Callable[[Record], Record], Actor], Awaitable[Record]]
    revoke: Callable[[GatewayStore, str, None, Actor], Awaitable[Record]]
    data: Callable[[Record], Mapping[str, Any]]

    async def find(self, store: GatewayStore, team: str, name: str) -> Record | None:
        """Return one of a team, or of a team below it, by name; ``None`` if there is none."""
        return next((each for each in await self.visible(store, team) if each.name == name), None)


KEYS: Final = NodeKind[KeyRecord]("key", visible_keys, edit_key, revoke_key, key_data)
"""How keys are listed, edited and revoked."""
TEAMS: Final = NodeKind[TeamRecord]("team", visible_teams, edit_team, revoke_team, team_data)
"""How teams are listed, edited and revoked."""
