"""What English verbs do: read, search, create, change, delete, send, move, run. Replaceable data of the planner."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Action(StrEnum):
    """The class of a verb."""

    READ = "read"
    SEARCH = "search"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    SEND = "send"
    MOVE = "move"
    RUN = "run"
    PRODUCE = "produce"
    CHANGE = "change"
    GO = "go"
    INPUT = "input"
    BUY = "buy"


_CLASSES: Final = {
    Action.READ: """
        read show list get view display see tell give look check describe fetch retrieve inspect count print return
        explain load preview query download browse examine monitor watch enumerate summarize compare diff resolve track
        review recall ask know verify validate determine detect analyze identify stat head tail tree open examine survey
    """,
    Action.SEARCH: "search find locate discover lookup grep",
    Action.CREATE: "create add new insert register schedule book reserve append clone open file initialize init allocate save store remember record remind note",
    Action.UPDATE: "update edit change modify set rename replace reopen mark assign toggle overwrite adjust patch resize close complete write upload put label turn switch insert attach move tag",
    Action.CHANGE: """
        refund unstage reset revoke undo revert restore pay charge deploy approve reject ban kick invite archive subscribe
        unsubscribe follow unfollow star fork merge push commit stage lock unlock enable disable
    """,
    Action.DELETE: "delete remove erase clear drop cancel purge wipe discard destroy uninstall truncate kill",
    Action.SEND: "send post email mail reply publish notify forward tweet submit share message respond announce",
    Action.MOVE: "move rename relocate",
    Action.RUN: "run execute start launch trigger perform call invoke stop play pause resume solve work use test",
    Action.PRODUCE: "translate draft generate convert transcribe render calculate compute outline draw make produce paint summarize echo format build take plot capture rewrite condense build compose simulate",
    Action.GO: "navigate go open visit browse load",
    Action.INPUT: "type fill enter write input press click tap select choose",
    Action.BUY: "buy order purchase shop",
}  # fmt: skip

ACTIONS: Final = {
    verb: frozenset(action for action, verbs in _CLASSES.items() if verb in verbs.split())
    for verb in {verb for verbs in _CLASSES.values() for verb in verbs.split()}
}
"""The classes of each verb; some verbs have two."""

READING: Final = frozenset({Action.READ, Action.SEARCH})
WRITING: Final = frozenset(
    {Action.CREATE, Action.UPDATE, Action.DELETE, Action.SEND, Action.MOVE, Action.BUY, Action.CHANGE}
)

GENERAL: Final = frozenset(
    """
    create add new make insert update edit change modify set write put delete remove erase send post share
    generate produce move rename run execute go open buy order get type enter fill press
    """.split()
)
"""Verbs that can stand for others of their class: "rename" for "move", but not "merge" for "commit"."""

DELETING_WORDS: Final = frozenset(verb for verb, actions in ACTIONS.items() if Action.DELETE in actions)

NOUNS_TOO: Final = frozenset(
    """
    access account address alert answer approach arrange bill block book brew bug build call cart change charge chart
    chat check clip close comment commit compare complete contact control copy cost count cover crop cut date debug
    deploy design detail display divide document download draft draw drive drop duplicate echo edit email end estimate
    export extract feed file fill filter find fix flag focus follow forecast fork format forward group guide head help
    hide highlight hire hope host identify image import increase index install interest issue item join judge key label
    land launch lead level like link list load lock log look mail map mark mask match matter measure merge message model
    monitor mount move mute name need note offer open order outline paint paper paste patch pay picture pin pipe place
    plan plant play plot point post present press price print process produce program promise prompt publish purchase
    push query question quote race rain rank rate reach record refund release rent repair repeat reply report request
    research reserve reset rest restart result return reverse review reward ring roll run sample save scale scan schedule
    score screen search select sense set shape share ship shop show sign signal snow solve sort sound source space split
    spot stage stamp star start state stay step stock stop store stream study style subject submit supply support
    surface survey switch table tag take talk target task teach test text tip title total touch trace track trade train
    transfer transform travel treat tree tail stat use diff trial trim trip try turn type update upgrade upload use value view visit vote wait
    walk wash watch water weather weigh wipe work wrap write zip zone
    """.split()
)
"""Verbs that are nouns too: after "and" they start a command only if an object follows."""
