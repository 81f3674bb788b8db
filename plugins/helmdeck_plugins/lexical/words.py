"""English word lists: stop words, verbs of requests, synonyms.

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
    ("open", "read", "view", "load"),
    ("type", "enter", "input", "fill"),
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
    ("currency", "exchange", "forex", "crypto", "cryptocurrency", "bitcoin", "coin"),
    ("loan", "mortgage", "borrow", "credit", "debt", "lend", "repayment"),
    ("tax", "vat", "income"),
    ("insurance", "insure", "policy", "coverage"),
    ("invoice", "bill", "receipt", "payment"),
    ("pay", "payment", "transaction", "transfer"),
    ("bank", "account", "balance"),
    ("salary", "wage", "payroll", "compensation"),
    ("recruit", "hire", "hiring", "talent", "candidate", "employee", "staff", "freelance", "freelancer"),
    ("customer", "client", "buyer", "consumer"),
    ("advertise", "advertisement", "ad", "campaign", "marketing", "promotion", "promote"),
    ("seo", "keyword", "ranking"),
    ("restaurant", "dining", "dinner", "food", "cuisine", "eat"),
    ("drink", "beverage", "wine", "beer", "cocktail"),
    ("attraction", "sightseeing", "tourist", "tourism", "travel"),
    ("train", "railway", "rail", "transit"),
    ("fuel", "gas", "gasoline", "petrol"),
    ("parking", "carpark", "park"),
    ("route", "direction", "navigation", "navigate"),
    ("distance", "far", "mile", "kilometer"),
    ("exercise", "workout", "fitness", "gym", "training"),
    ("diet", "nutrition", "calorie", "meal"),
    ("medicine", "drug", "medication", "prescription", "treatment"),
    ("disease", "illness", "symptom", "diagnosis", "diagnose"),
    ("patient", "clinical", "hospital", "trial"),
    ("pet", "animal", "dog", "cat", "veterinary"),
    ("plant", "garden", "gardening", "crop"),
    ("horoscope", "zodiac", "astrology"),
    ("game", "play", "puzzle", "quiz", "trivia"),
    ("sport", "match", "team", "league"),
    ("story", "tale", "fiction", "novel", "book"),
    ("poem", "poetry", "verse", "lyric"),
    ("define", "definition", "meaning", "dictionary", "glossary"),
    ("explain", "explanation", "clarify", "describe", "description"),
    ("answer", "respond", "reply", "response"),
    ("advice", "tip", "guidance", "recommendation", "suggestion", "suggest", "recommend"),
    ("lesson", "class", "lecture", "tutorial", "course"),
    ("student", "pupil", "learner", "school"),
    ("homework", "assignment", "exam"),
    ("grammar", "spelling", "proofread"),
    ("rephrase", "paraphrase", "reword", "rewrite"),
    ("scientific", "science", "research", "paper", "academic", "scholar"),
    ("mathematics", "math", "equation", "algebra", "arithmetic"),
    ("mean", "average"),
    ("sum", "total", "add"),
    ("court", "lawsuit", "case", "statute", "regulation", "law"),
    ("contract", "agreement"),
    ("security", "secure", "vulnerability", "threat", "breach", "scan"),
    ("password", "login", "authenticate", "authentication", "credential"),
    ("encrypt", "encryption", "cipher"),
    ("server", "host", "hosting", "cloud", "infrastructure", "deploy", "deployment"),
    ("bug", "error", "defect", "failure"),
    ("database", "sql", "query"),
    ("app", "application", "software"),
    ("archive", "zip", "compress"),
    ("download", "save", "fetch"),
    ("upload", "submit"),
    ("monitor", "track", "watch", "observe"),
    ("notify", "notification", "alert", "warn", "remind"),
    ("schedule", "plan", "timetable"),
    ("reserve", "reservation", "book", "booking"),
    ("register", "registration", "enroll", "signup"),
    ("cancel", "cancellation", "refund"),
    ("deliver", "delivery", "shipping", "shipment", "package"),
    ("product", "item", "goods", "merchandise"),
    ("review", "rating", "feedback", "opinion"),
    ("sentiment", "emotion", "mood", "feeling"),
    ("statistic", "stats", "statistics", "metric"),
    ("trend", "forecast", "prediction", "predict"),
    ("detail", "info", "information"),
    ("status", "condition", "state"),
    ("history", "historical", "past"),
    ("earthquake", "seismic"),
    ("air", "pollution", "quality"),
    ("energy", "electricity", "power"),
    ("space", "astronomy", "planet", "star", "stellar"),
    ("company", "business", "firm", "corporate", "enterprise"),
    ("domain", "dns", "hostname"),
    ("logo", "brand", "branding"),
    ("color", "colour"),
    ("caption", "subtitle"),
    ("crop", "resize", "trim"),
    ("speed", "fast", "slow", "pace"),
    ("join", "combine", "merge", "concatenate", "stitch"),
    ("split", "divide", "separate"),
    ("insight", "analysis", "analytics"),
    ("idea", "brainstorm", "inspiration"),
    ("friend", "contact"),
    ("tenant", "rent", "rental", "lease", "landlord"),
    ("ship", "vessel", "boat"),
    ("diary", "calendar"),
    ("buddy", "friend", "pal"),
    ("repository", "repo"),
    ("photo", "pic", "photograph"),
    ("tv", "television", "telly"),
    ("bicycle", "bike", "cycle"),
    ("fare", "price"),
    ("lorry", "truck"),
    ("motorway", "highway", "freeway"),
    ("postcode", "zipcode", "postal"),
    ("nearby", "near", "nearest", "closest"),
    ("coordinates", "latitude", "longitude", "gps"),
    ("parcel", "package"),
    ("coupon", "voucher", "promo", "discount"),
    ("supermarket", "grocery"),
    ("revenue", "turnover"),
    ("senator", "legislator", "congressman", "representative"),
    ("country", "nation"),
    ("city", "town", "municipality"),
    ("population", "inhabitants"),
    ("citation", "cite", "reference"),
    ("author", "writer"),
    ("actor", "actress"),
    ("synonym", "thesaurus"),
    ("biography", "bio"),
    ("row", "record"),
    ("folder", "subfolder"),
    ("outage", "downtime"),
    ("crash", "exception"),
    ("commit", "revision", "changeset"),
    ("screenshot", "capture"),
    ("pill", "medication"),
    ("vaccine", "vaccination", "immunization"),
    ("pharmacy", "chemist", "drugstore"),
    ("musician", "singer", "artist"),
    ("painting", "artwork"),
    ("hike", "trek"),
    ("quake", "earthquake", "tremor"),
    ("standings", "leaderboard"),
    ("competition", "tournament", "championship"),
    ("winner", "champion"),
    ("teammate", "colleague", "coworker"),
    ("plane", "aircraft", "airplane", "aeroplane"),
    ("lamp", "light", "lightbulb"),
    ("subway", "metro", "underground"),
    ("corporation", "organization", "organisation"),
    ("concert", "gig"),
    ("basket", "cart", "trolley"),
    ("fixture", "match"),
    ("election", "ballot"),
    ("taxi", "cab", "rideshare"),
    ("paper", "publication"),
    ("supplier", "vendor"),
    ("holiday", "vacation"),
    ("store", "retailer", "shop"),
    ("cinema", "theater", "theatre"),
    ("loudness", "volume"),
    ("competitor", "rival"),
    ("webcam", "camera"),
    ("curtain", "blind", "shutter"),
    ("fridge", "refrigerator"),
    ("elevation", "altitude"),
    ("hurricane", "typhoon", "cyclone"),
    ("sunrise", "dawn"),
    ("sunset", "dusk"),
    ("mobile", "cellphone", "smartphone"),
)
"""Groups of synonyms; a word may be in several groups."""

KINDS: Final[tuple[tuple[str, str], ...]] = (
    (
        "weather forecast",
        (
            "rain rainy raining snow snowy storm stormy thunderstorm fog foggy sunny sunshine wind windy humid "
            "humidity cloudy hail drizzle heatwave umbrella celsius fahrenheit"
        ),
    ),
    (
        "language translate",
        (
            "english german french spanish italian portuguese russian chinese mandarin japanese korean arabic "
            "hindi turkish polish dutch swedish danish norwegian finnish greek latin hebrew vietnamese thai "
            "ukrainian czech hungarian"
        ),
    ),
    (
        "math calculate calculator mathematics",
        (
            "plus minus percent percentage square root cube remainder logarithm log sine cosine factorial "
            "fraction multiply divide subtract equation algebra integral derivative binary decimal"
        ),
    ),
    ("zodiac horoscope astrology", "aries taurus gemini virgo libra scorpio sagittarius capricorn aquarius pisces"),
    ("currency exchange", "dollar euro pound yen yuan rupee franc krona peso usd eur gbp jpy"),
    ("crypto cryptocurrency currency", "bitcoin ethereum dogecoin litecoin blockchain btc eth usdt"),
    (
        "food recipe cook",
        (
            "cake bread soup pasta salad chicken beef vegan vegetarian gluten breakfast lunch dessert pizza sauce "
            "ingredient"
        ),
    ),
    ("travel trip tour", "beach sightseeing vacation holiday itinerary museum landmark backpack cruise resort"),
    (
        "health medical medicine",
        "pain fever headache cough symptom allergy pregnancy diabetes asthma disease blood illness surgery vaccine",
    ),
    ("music song", "guitar piano jazz rock concert singer melody playlist album band"),
    ("sport", "football soccer basketball tennis baseball hockey cricket golf olympics"),
    ("animal pet", "dog cat puppy kitten horse bird fish"),
    ("law legal", "court divorce lawsuit tenant landlord copyright patent trademark custody attorney contract"),
    ("finance invest", "stock bond portfolio dividend retirement mortgage savings shares fund"),
    ("education course learn", "exam homework lesson tutorial university school college curriculum"),
    ("programming code software", "python javascript java html css sql algorithm compiler"),
    ("clothes fashion", "shirt dress shoe jacket jeans hoodie sneaker boot hat"),
    ("vehicle car", "truck engine tire brake fuel gasoline suv sedan mileage"),
    ("job career", "resume interview salary vacancy"),
    ("image picture", "portrait wallpaper screenshot jpeg png jpg photograph selfie"),
    ("audio sound", "wav podcast recording noise"),
    ("video film", "youtube clip trailer documentary"),
    ("document file", "pdf docx"),
    (
        "date time calendar",
        "today tomorrow tonight monday tuesday wednesday thursday friday saturday sunday week weekend",
    ),
    ("game", "chess puzzle player quiz dice card"),
    ("business company", "startup entrepreneur marketing customer sales"),
    ("summary summarize", "synopsis gist recap overview takeaway"),
    ("compare comparison", "versus vs difference pros cons better"),
    ("website web page", "html homepage landing url link browser"),
    ("house property estate", "bedroom apartment villa mortgage rent rental"),
    ("science scientific research paper", "physics chemistry biology quantum genome protein"),
    ("history historical", "ancient civilization century war empire"),
    ("plan schedule", "agenda deadline"),
    ("beauty cosmetic", "makeup skincare skin lipstick shampoo cleanser perfume hair lotion sunscreen mascara nail"),
    (
        "product shop shopping buy",
        (
            "laptop smartphone headphone shoe sneaker sofa furniture camera watch handbag television tablet charger gadget "
            "toy mattress appliance discount bargain deal coupon brand"
        ),
    ),
    ("gift", "birthday anniversary girlfriend boyfriend wedding christmas valentine surprise"),
    ("website web", "html css javascript frontend landing carousel navbar popup responsive"),
    ("travel trip tourist", "hiking trail mountain island attraction airport luggage passport visa camping"),
    ("news", "election politics political immigration war president government scandal"),
    ("law legal regulation", "tenancy visa immigration tax inheritance lease liability deduction"),
    ("hire talent freelance recruit", "engineer developer designer contractor programmer"),
    ("security scan vulnerability", "hack hacked hacker breach phishing malware fishy virus firewall"),
    ("ticket event", "concert theater theatre festival gig comedy opera musical stadium"),
    ("fitness workout exercise", "yoga stretching muscle gym cardio squat pushup weightlifting running flexibility"),
    ("meeting call conversation", "zoom webex standup agenda"),
    ("social media", "twitter instagram facebook tiktok linkedin hashtag influencer follower"),
    ("horoscope zodiac", "leo cancer love romance compatibility dating birthdate"),
    ("file folder directory", "txt docx csv subfolder"),
    ("city location", "london paris tokyo berlin york francisco chicago boston sydney madrid rome"),
    ("movie film", "actor director cinema netflix thriller comedy"),
    ("restaurant", "reservation dinner sushi brunch steakhouse"),
    ("audio speech", "mp3 wav"),
    ("video", "mp4 avi mov"),
    ("image", "jpg jpeg png gif bmp"),
    ("stock finance", "ticker nasdaq shares trading dow"),
    ("flight airline airport", "fly flying boarding airfare layover"),
    ("hotel accommodation", "room suite hostel airbnb lodge"),
    ("book", "novel author chapter bestseller read paperback"),
    ("quote inspiration", "inspirational motivational affirmation motivation"),
    ("space astronomy", "moon mars galaxy nasa telescope jupiter"),
    ("earthquake", "magnitude richter tsunami aftershock"),
    ("code programming software", "typescript golang rust kotlin script function bug refactor"),
    ("email mail", "gmail outlook newsletter"),
    ("dictionary word", "synonym antonym vocabulary pronounce"),
    ("diagram chart", "flowchart mindmap uml gantt"),
    ("crypto", "token nft wallet"),
    ("seo keyword", "backlink serp traffic"),
    ("podcast", "episode"),
    ("database", "mysql postgres sqlite schema"),
    ("server cloud", "aws azure kubernetes docker ssh"),
    ("tax", "deduction refund irs"),
    ("loan credit", "borrowing mortgage lender installment"),
)
"""Broader terms and their cases: a request for rain needs a weather tool, but not the other way round."""
