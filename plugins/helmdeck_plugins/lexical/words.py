"""Everyday English as data: words that say nothing, verbs that ask for work, words that mean much the same.

Nothing here comes from a catalog or names a tool. Other languages work without this module; they only miss its help.
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
    activate add adjust align analyse analyze annotate apply approve archive arrange ask assess assign attach authorize
    backup balance begin block book brew browse build buy calculate call cancel capture categorize change chart chat
    check choose classify clean clear clip clone close collect combine comment commit compare compile complete compose
    compress compute condense configure confirm connect consider consult contact continue control convert cook copy
    correct count cover create crop customize cut debug decode decrypt define delete deliver deploy describe design
    detect determine develop diagnose disable discover display divide download draft draw drive duplicate echo edit
    email embed enable encode encrypt end engage enhance ensure enter estimate evaluate examine execute expand explain
    explore export extend extract fetch fill filter finalize find fix flag follow forecast format forward generate get
    give go grab guess guide hide highlight identify illustrate implement import improve include increase inform insert
    inspect install interpret investigate invite issue join keep label launch learn list listen load locate lock log
    look lookup make manage map match measure merge message modify monitor mount move multiply mute name navigate
    normalize note notify obtain open optimize order organize outline paint paraphrase parse paste pay perform place
    plan play plot post predict prepare present press preview print prioritize process produce proofread propose provide
    publish pull purchase push put query rank rate read rearrange recall recognize recommend record redact refine refund
    register remember remind remove rename render repeat rephrase replace reply report request reschedule research
    reserve reset resize resolve respond restart restore resume retrieve return reverse review revise rewrite roll rotate
    run save scan schedule scrape search select sell send separate set share show sign simplify simulate solve sort speak
    split start stitch stop store stream study submit subscribe subtract suggest summarise summarize sum surface switch
    synchronize synthesize take teach tell test trace track train transcribe transfer transform translate transpose trim
    try turn uninstall unlock update upgrade upload validate verify view visualize watch write zip
    """.split()
)  # fmt: skip

SYNONYMS: Final[tuple[tuple[str, ...], ...]] = (
    ("remember", "memorize", "memory", "store", "save", "keep", "remind"),
    ("recall", "remember", "memory", "retrieve"),
    (
        "image",
        "picture",
        "photo",
        "illustration",
        "illustrate",
        "drawing",
        "draw",
        "artwork",
        "graphic",
        "visual",
        "paint",
    ),
    ("make", "create", "generate", "build", "produce", "compose"),
    ("write", "draft", "compose", "author"),
    ("post", "article", "blog"),
    ("summarize", "summary", "digest", "condense", "shorten", "tldr"),
    ("find", "search", "lookup", "locate", "discover", "look"),
    ("get", "retrieve", "fetch", "obtain", "read"),
    ("delete", "remove", "erase", "clear", "cancel"),
    ("send", "deliver", "forward", "share"),
    ("message", "text", "sms", "chat"),
    ("email", "mail", "inbox"),
    ("buy", "purchase", "order", "shop", "shopping"),
    ("film", "movie", "video", "clip"),
    ("song", "music", "track", "album", "playlist"),
    ("audio", "sound", "voice", "speech", "spoken"),
    ("transcribe", "transcript", "transcription"),
    ("speak", "say", "speech", "voice", "narrate", "podcast"),
    ("calculate", "compute", "estimate", "determine"),
    ("check", "verify", "validate", "confirm", "inspect"),
    ("analyze", "analyse", "analysis", "analytics", "examine", "evaluate", "assess"),
    ("fix", "repair", "correct", "debug", "troubleshoot"),
    ("change", "modify", "edit", "update", "alter", "adjust"),
    ("translate", "translation", "language"),
    ("doctor", "physician", "medical", "health"),
    ("car", "vehicle", "automobile"),
    ("flight", "plane", "airline", "aviation"),
    ("hotel", "accommodation", "lodging", "stay"),
    ("trip", "travel", "journey", "itinerary", "vacation"),
    ("job", "career", "employment", "vacancy"),
    ("money", "finance", "financial", "budget"),
    ("stock", "share", "equity", "investment", "invest"),
    ("price", "cost", "rate", "fee"),
    ("weather", "forecast", "temperature"),
    ("appointment", "meeting", "calendar", "schedule", "event"),
    ("task", "todo", "reminder"),
    ("ticket", "issue", "bug"),
    ("web", "website", "site", "internet", "online", "page", "url", "link"),
    ("file", "document"),
    ("folder", "directory"),
    ("slide", "presentation", "deck", "powerpoint"),
    ("chart", "graph", "plot", "diagram", "visualize"),
    ("table", "spreadsheet", "excel", "csv"),
    ("code", "program", "script", "python", "software"),
    ("house", "home", "property", "apartment", "rent", "estate"),
    ("food", "recipe", "meal", "dish", "cook", "cooking"),
    ("learn", "study", "course", "education", "educational", "teach", "tutor"),
    ("kid", "child", "children"),
    ("law", "legal", "lawyer", "attorney"),
    ("news", "headline"),
    ("joke", "funny", "humor", "meme"),
    ("duplicate", "copy", "clone"),
    ("compare", "comparison", "difference", "diff"),
    ("rank", "sort", "order", "arrange"),
    ("list", "show", "display", "view"),
    ("start", "begin", "launch", "run", "execute"),
    ("stop", "end", "halt", "terminate"),
    ("publish", "release", "announce"),
    ("tweet", "twitter"),
    ("phone", "call", "telephone"),
    ("place", "location", "address", "map"),
    ("people", "person", "contact"),
    ("clothes", "fashion", "outfit", "wear", "dress", "apparel"),
    ("gift", "present"),
    ("convert", "conversion", "transform"),
)
"""Groups of words that stand for each other at a discount; a word may be in several groups."""
