"""English word lists: stop words, and the verbs and polite words of requests.

They are independent of any catalog. Requests in other languages work without them, with lower precision.
"""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = frozenset(
    """
    a about above after again all also although am an and any anything are aren't as at be because been before being
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't done down during
    each either else ever every few for from further had has hasn't have haven't having he he's her here hers herself
    hey hello hi him himself his how however i i'd i'll i'm i've if in into is isn't it it's its itself just kindly let
    let's like may maybe me might more most much must my myself need needed needs no nor not now of off oh ok okay on
    once one only or other our ours ourselves out over own per perhaps please quite rather really same shall she should
    so some someone something such than thank thanks that that's the their theirs them themselves then there there's
    these they they're this those though through thus to too under until up upon us various very via want wanted wants
    was wasn't we we'd we'll we're we've well were what what's when where whether which while who whom whose why will
    with within without won't would wouldn't yes yet you you'd you'll you're you've your yours yourself
    able allow allows allowing based both currently additionally finally firstly lastly moreover furthermore afterwards
    regarding related specific specified given certain using help helps helping assist assistance
    """.split()
)  # fmt: skip

VERBS: Final = frozenset(
    """
    accept activate adapt add adjust align analyse analyze annotate apply approve archive arrange ask assess assign attach authorize
    backup bake balance begin block book brew browse build buy calculate call cancel capture categorize change charge chart chat
    check choose clarify classify clean clear clip clone close collect combine comment commit compare compile complete compose
    compress compute condense configure confirm connect consider consult contact continue control convert cook copy
    correct count cover create crop crawl customize cut debug decode decrypt define delete deliver deploy describe design
    detect determine develop diagnose disable discover display divide download draft draw drive duplicate echo edit
    email embed enable encode encrypt end engage enhance ensure enter estimate evaluate examine execute expand explain
    explore export extend extract fetch fill filter finalize find fix flag follow forecast format forward generate get
    give go grab guess guide hide highlight hire identify illustrate implement import improve include increase inform insert inquire
    inspect install interpret investigate invite issue join keep label launch learn list listen load locate lock log login
    look lookup make manage map match measure mend merge message modify monitor mount move multiply mute name navigate
    normalize note notify obtain offer open optimize order organize outline paint paraphrase parse paste pay perform ping place
    plan play plot post predict prepare present press preview print prioritize process produce proofread propose provide
    publish pull purchase push put query rank rate read rearrange recall recognize recommend record redact refine refund
    register remember remind remove rename render repair repeat rephrase replace reply report request reschedule research
    reserve reset resize resolve respond restart restore resume retrieve return reverse review revise rewrite roll rotate
    run save say scan schedule scrape search select sell send separate set share show sign simplify simulate solve sort speak spell
    split start stitch stop store stream study submit subscribe subtract suggest summarise summarize sum surface switch
    synchronize synthesize take teach tell test tidy trace track train transcribe transfer transform translate transpose trim
    try turn uninstall unlock update upgrade upload validate verify view visualize wash watch wipe write zip
    """.split()
)  # fmt: skip

SMALL_TALK: Final = frozenset(
    """
    suggest suggestion recommend recommendation advice tip idea find search look get retrieve show give tell provide know
    check make take keep let include start use try like information detail popular best good great new latest available
    different various way sure necessary interested particular current possible thing option question request task user
    following another next last first one two three
    """.split()
)
"""Words of any request: they are less informative than their rarity in a catalog suggests."""

LEAD_INS: Final = frozenset(
    """
    please kindly then also now first second third next finally lastly and so but ok okay additionally afterwards
    furthermore moreover afterward just to after that once done thanks hi hey hello
    """.split()
)
"""Words that may precede the verb of a command."""

OBJECT_STARTS: Final = frozenset(
    """
    a an the this that these those it them my our me us your his her its their all any each every some how what which
    whether if to for from with into up out in on about between both more new two three
    """.split()
)
"""Words that follow a verb rather than a noun: "book a ride" is a command, "book rides" may be one."""

FIRST_PERSON: Final = frozenset("i i'm i'd i've i'll me my mine myself".split())
WE: Final = frozenset("we we're we've our ours us".split())
LETTER_WORDS: Final = frozenset("dear sincerely regards faithfully yours".split())

PLEASE: Final = frozenset(
    "please kindly bitte pls plz veuillez pouvez peux puedes podrias favor necesito quiero brauche kannst".split()
)
"""Polite words of widely used languages; a question mark works in all of them."""

ASKING_PAIRS: Final = frozenset(
    (first, second)
    for first, second in (
        pair.split()
        for pair in (
            "can you|could you|would you|will you|do you|can i|could i|i need|i want|i wish|i would|i'd like|i am|i'm|"
            "i'm looking|i'm trying|i'm planning|i'm interested|i was|i have|help me|tell me|show me|give me|find me|"
            "for me|let me|let us|is there|are there|how do|how can|how much|how many|what is|what are|what's the|"
            "need to|want to|like to"
        ).split("|")
        if " " in pair
    )
)
"""Pairs of words that address an assistant."""

WISHES: Final = frozenset("need needs want wanted wish looking".split())
"""Words of a request without a verb of action: "I need a hotel"."""

JOINTS: Final = frozenset("and then also plus or but next finally lastly after afterwards afterward".split())
"""Words that may join two clauses."""

BEFORE_VERB: Final = LEAD_INS | frozenset("i i'd i'll you we need want would like could can help me".split())
"""Words between a conjunction and a verb: "and please send", "and I want to send"."""
