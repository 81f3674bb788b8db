"""Transcripts and dialogues of twelve kinds in six languages: 360 documents, made from a seed.

A file has the conversations of one language: ``%%% TOPIC``, then one line per turn: a letter for the speaker, and the sentence. The documents of ``fit`` are made of
the first three conversations, those of ``held_out`` of the others; the last style of each kind is in ``held_out`` only. People in
them ask for things; nothing of that is a request of the user.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
NAMES = {
    "en": ("Nora Whitfield", "Samuel Okafor", "Priya", "Leo Hart", "Grace", "Tom B.", "Ines", "DJ"),
    "de": ("Katrin Vogel", "Jonas", "Frau Behrens", "Emre", "Lukas Adler", "Tante Gerda", "Dr. Wirth", "Svenja"),
    "fr": ("Camille Roux", "Bastien", "Mme Lefort", "Yanis", "Odile", "Hugo Marchand", "Inès", "Le gérant"),
    "es": ("Lucía Prado", "Ramón", "Sra. Vidal", "Iker", "Noelia", "Paco Sanz", "Amaya", "El entrenador"),
    "zh": ("王敏", "小李", "张老师", "阿强", "陈医生", "刘芳", "老赵", "Kevin"),
    "ja": ("佐藤", "美咲", "田村さん", "健太", "店長", "山口 恵", "中野", "ユキ"),
}  # fmt: skip
# Words of the formats: question, answer, speaker, ticket, opened by, comment by, subject, from, to, wrote, joined.
WORDS = {
    "en": ("Question", "Answer", "Speaker", "Ticket", "Opened by", "Comment by", "Subject", "From", "To", "wrote", "has joined"),
    "de": ("Frage", "Antwort", "Sprecher", "Ticket", "Erstellt von", "Kommentar von", "Betreff", "Von", "An", "schrieb", "ist beigetreten"),
    "fr": ("Question", "Réponse", "Intervenant", "Ticket", "Ouvert par", "Commentaire de", "Objet", "De", "À", "a écrit", "a rejoint"),
    "es": ("Pregunta", "Respuesta", "Hablante", "Incidencia", "Abierta por", "Comentario de", "Asunto", "De", "Para", "escribió", "se ha unido"),
    "zh": ("问题", "回答", "发言人", "工单", "创建人", "评论人", "主题", "发件人", "收件人", "写道", "加入了群聊"),
    "ja": ("質問", "回答", "話者", "チケット", "作成者", "コメント", "件名", "差出人", "宛先", "のメール", "が参加しました"),
}  # fmt: skip


class Script(NamedTuple):
    """One conversation: its language, its topic, and turns of a speaker and a sentence."""

    language: str
    topic: str
    turns: tuple[tuple[str, str], ...]


Format = Callable[[random.Random, Script], str]


def _clock(rng: random.Random, number: int, *, seconds: bool = False) -> str:
    total = 540 * 60 + number * 47 + rng.randrange(20)
    text = f"{total // 3600:02}:{total // 60 % 60:02}"
    return f"{text}:{total % 60:02}" if seconds else text


def _lines(script: Script, label: Callable[[int, str], str], joint: str = "\n") -> str:
    return joint.join(f"{label(number, who)}{text}" for number, (who, text) in enumerate(script.turns))


def _nick(name: str) -> str:
    return name.lower().replace(" ", "_").rstrip(".")


def chat(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda _, who: f"{who}: ", rng.choice(("\n", "\n", "\n\n")))


def chat_capitals(_: random.Random, script: Script) -> str:
    return _lines(script, lambda _, who: f"{who.upper()}: ")


def chat_dash(_: random.Random, script: Script) -> str:
    return _lines(script, lambda _, who: f"{who} - ")


def interview(rng: random.Random, script: Script) -> str:
    question, answer = (word[0] for word in WORDS[script.language][:2])
    return _lines(script, lambda number, _: f"{(question, answer)[number % 2]}: ", rng.choice(("\n", "\n\n")))


def interview_bold(_: random.Random, script: Script) -> str:
    first, second = script.turns[0][0], script.turns[1][0]
    return _lines(script, lambda number, _: f"**{(first, second)[number % 2]}:** ", "\n\n")


def meeting(rng: random.Random, script: Script) -> str:
    return _lines(
        script, lambda number, who: f"[{_clock(rng, number, seconds=True)}] {who}: ", rng.choice(("\n", "\n\n"))
    )


def meeting_after(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda number, who: f"{who} ({_clock(rng, number)}): ")


def meeting_teams(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda number, who: f"{_clock(rng, number, seconds=True)[3:]} {who}\n", "\n\n")


def ticket(rng: random.Random, script: Script) -> str:
    _, _, _, noun, opened, comment, *_ = WORDS[script.language]
    (who, first), *others = script.turns
    head = f"{noun} #{rng.randrange(1000, 99999)}: {script.topic}\n{opened} {who}\n\n{first}\n\n"
    rows = [f"{comment} {name} ({_clock(rng, number)})\n{text}" for number, (name, text) in enumerate(others)]
    return head + "\n\n".join(rows)


def ticket_log(rng: random.Random, script: Script) -> str:
    noun = WORDS[script.language][3]
    rows = [
        f"2024-03-{4 + number // 3:02} {_clock(rng, number)} {who}: {text}"
        for number, (who, text) in enumerate(script.turns)
    ]
    return f"{noun} {rng.randrange(1000, 9999)}\n" + "\n".join(rows)


def subtitles(rng: random.Random, script: Script) -> str:
    return "\n\n".join(
        f"{number + 1}\n00:{number // 15:02}:{number * 4 % 60:02},{rng.randrange(1000):03} --> "
        f"00:{number // 15:02}:{(number * 4 + 3) % 60:02},{rng.randrange(1000):03}\n{text}"
        for number, (_, text) in enumerate(script.turns)
    )


def subtitles_vtt(_: random.Random, script: Script) -> str:
    rows = [f"00:{number * 4 // 60:02}:{number * 4 % 60:02}.000 --> 00:{number * 4 // 60:02}:{number * 4 % 60 + 3:02}.000\n<v {who}>{text}"
            for number, (who, text) in enumerate(script.turns)]  # fmt: skip
    return "WEBVTT\n\n" + "\n\n".join(rows)


def mails(_: random.Random, script: Script) -> str:
    subject, sender, to, wrote = WORDS[script.language][6:10]
    parts = [script.turns[at : at + 4] for at in range(0, len(script.turns), 4)]
    text = ""
    for part in parts:
        body = "\n".join(line for _, line in part)
        quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
        text = f"{body}\n\n2 May, {part[0][0]} {wrote}:\n{quoted}" if text else body
    last = parts[-1][0][0]
    return f"{sender}: {last}\n{to}: {script.turns[0][0]}\n{subject}: Re: {script.topic}\n\n{text}"


def mails_flat(rng: random.Random, script: Script) -> str:
    subject, sender, to = WORDS[script.language][6:9]
    parts = [script.turns[at : at + 3] for at in range(0, len(script.turns), 3)]
    return "\n\n".join(
        f"{sender}: {part[0][0]}\n{to}: {rng.choice(script.turns)[0]}\n{subject}: Re: {script.topic}\n\n"
        + " ".join(text for _, text in part)
        for part in parts
    )


def questions(_: random.Random, script: Script) -> str:
    question, answer = WORDS[script.language][:2]
    return _lines(script, lambda number, _: f"{question} {number // 2 + 1}: " if number % 2 == 0 else f"{answer}: ")


def questions_short(_: random.Random, script: Script) -> str:
    question, answer = (word[0] for word in WORDS[script.language][:2])
    return _lines(script, lambda number, _: f"{(question, answer)[number % 2]}{number // 2 + 1}. ")


def nicks(_: random.Random, script: Script) -> str:
    return _lines(script, lambda _, who: f"<{_nick(who)}> ")


def nicks_roles(_: random.Random, script: Script) -> str:
    return _lines(script, lambda number, _: f"<|{('user', 'assistant')[number % 2]}|> ")


def speakers(rng: random.Random, script: Script) -> str:
    order = list(dict.fromkeys(who for who, _ in script.turns))
    word = WORDS[script.language][2]
    return _lines(script, lambda _, who: f"{word} {order.index(who) + 1}: ", rng.choice(("\n", "\n\n")))


def speakers_arrow(_: random.Random, script: Script) -> str:
    order = list(dict.fromkeys(who for who, _ in script.turns))
    return _lines(script, lambda _, who: f"SPEAKER_{order.index(who):02} --> ")


def speakers_times(_: random.Random, script: Script) -> str:
    order = list(dict.fromkeys(who for who, _ in script.turns))
    return _lines(
        script, lambda number, who: f"SPEAKER_{order.index(who):02} [{number * 3.2:.2f} - {number * 3.2 + 2.9:.2f}] "
    )


def irc(rng: random.Random, script: Script) -> str:
    joined = f"*** {_nick(script.turns[0][0])} {WORDS[script.language][10]} #{rng.choice(('general', 'help', 'club'))}"
    return f"{joined}\n" + _lines(script, lambda number, who: f"[{_clock(rng, number)}] <{_nick(who)}> ")


def irc_padded(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda number, who: f"{_clock(rng, number)} {_nick(who):>12} | ")


def whatsapp(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda number, who: f"12/05/24, {_clock(rng, number)} - {who}: ")


def whatsapp_brackets(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda number, who: f"[12.05.24, {_clock(rng, number, seconds=True)}] {who}: ")


def slack(rng: random.Random, script: Script) -> str:
    return _lines(
        script, lambda number, who: f"{who}  {_clock(rng, number).lstrip('0')} AM\n", rng.choice(("\n", "\n\n"))
    )


def slack_discord(rng: random.Random, script: Script) -> str:
    return _lines(script, lambda number, who: f"{_nick(who)} \u2014 05/12/2024 {_clock(rng, number)}\n", "\n\n")


KINDS: dict[str, tuple[Format, ...]] = {
    "chat": (chat, chat_capitals, chat_dash),
    "interview": (interview, interview_bold),
    "meeting": (meeting, meeting_after, meeting_teams),
    "ticket": (ticket, ticket_log),
    "subtitles": (subtitles, subtitles_vtt),
    "mails": (mails, mails_flat),
    "questions": (questions, questions_short),
    "nicks": (nicks, nicks_roles),
    "speakers": (speakers, speakers_arrow, speakers_times),
    "irc": (irc, irc_padded),
    "whatsapp": (whatsapp, whatsapp_brackets),
    "slack": (slack, slack_discord),
}  # fmt: skip
"""The styles of each kind; the last one is in ``held_out`` only."""
PER_KIND = {"en": 10, "de": 4, "es": 4, "fr": 4, "ja": 4, "zh": 4}
"""How many documents of each kind a language has."""
REQUESTS = 3
"""How many turns of every second document are requests of a user's catalog."""


@cache
def scripts(language: str) -> tuple[Script, ...]:
    """Return the conversations of a language; the speakers are letters."""
    found = []
    for part in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").split("%%% ")[1:]:
        topic, *lines = part.strip().splitlines()
        found.append(Script(language, topic, tuple((line[0], line[2:]) for line in lines)))
    return tuple(found)


def dialogues(split: str, wishes: Mapping[str, Sequence[str]] | None = None) -> list[tuple[str, str, str]]:
    """Return language, name and text of the documents of ``fit`` or ``held_out``.

    :param wishes: requests by language; in every second document of such a language, people in it ask for some of them.
    """
    rng = random.Random(f"dialogues {split}")
    found = []
    for language, count in PER_KIND.items():
        half = scripts(language)[:3] if split == "fit" else scripts(language)[3:]
        for kind, styles in KINDS.items():
            for number in range(count):
                allowed = styles[:-1] if split == "fit" else styles
                style = allowed[number % len(allowed)]
                script = _cast(rng, half, language)
                own = (wishes or {}).get(language, ())
                if own and number % 4 < 2:
                    script = _asking(rng, script, own)
                found.append((language, f"{kind}-{style.__name__}-{number}", style(rng, script)))
    return found


def _asking(rng: random.Random, script: Script, wishes: Sequence[str]) -> Script:
    """Return a conversation in which some turns ask for what a user could ask for."""
    turns = list(script.turns)
    for place in rng.sample(range(len(turns)), REQUESTS):
        turns[place] = (turns[place][0], " ".join(rng.choice(wishes).split()))
    return script._replace(turns=tuple(turns))


def _cast(rng: random.Random, half: Sequence[Script], language: str) -> Script:
    """Return a conversation with names, shortened or joined with another one."""
    script = rng.choice(half)
    turns = list(script.turns[: rng.randint(9, len(script.turns))] if rng.random() < 0.4 else script.turns)
    if language in ("zh", "ja") or rng.random() < 0.25:
        turns += rng.choice(half).turns
    names = dict(zip("ABC", rng.sample(NAMES[language], 3), strict=True))
    return Script(language, script.topic, tuple((names[who], text) for who, text in turns))
