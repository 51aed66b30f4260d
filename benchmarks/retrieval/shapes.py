"""Corpora of several shapes: what is good for short turns may harm long messages, so a recipe is chosen on all of them.

The texts are our own, in `shapes/*.txt`; where a shape needs volume they are put together by a seeded generator, so a
corpus is the same on every machine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks.retrieval.beir import CHATS, OURS, Corpus, Document, Question, read_corpus

TEXTS = Path(__file__).parent / "shapes"
PAGES = Path(__file__).parent.parent.parent / "docs"
NOT_DOCUMENTS = {"benchmarks", "growing", "operations", "settings"}
"""Pages that are mostly tables, and rewritten by a command."""

OPENINGS = (
    "Hi! I could use some help with {topic}.",
    "Let's talk about {topic} again.",
    "I have been reading a lot about {topic} lately and it confuses me.",
    "Can you advise me on {topic}? I am not a beginner, but close.",
)
WISHES = (
    "What should I pay attention to, above all when it comes to {one} and {other}?",
    "Could you explain {one} and how it goes together with {other}?",
    "I would like a plan that covers {one} as well as {other}.",
    "Where do I begin, with {one} or with {other}?",
)
CLOSING = "Would you like me to turn this into a weekly plan, or to go deeper into {one}?"
THANKS = ("Thanks, that helps.", "Good to know.", "I had not thought of {one} at all.", "That is a lot to take in.")

LETTERS = "etaoinshrdlu"
"""What a slip puts in place of another letter."""


def shapes() -> list[Corpus]:
    """Return the corpora, each of another shape."""
    return [
        read_corpus(OURS),
        read_corpus(CHATS),
        assistants(),
        diary(),
        changes(),
        beliefs(),
        documents(),
        errors(),
        languages(),
        multilingual(),
    ]


def assistants() -> Corpus:
    """Long messages: users tell a little of themselves, and the assistant answers at length on the same subject."""
    random, found, asked = Random(1), list[Document](), list[Question]()
    day = date(2026, 1, 5)
    for number, (topic, words, told, advised) in enumerate(_topics()):
        for part, own in enumerate(_halved(told)):
            day += timedelta(days=2)
            session = f"a{number:02}{part}"
            for turn, (role, text, questions) in enumerate(
                _conversation(random, topic, words, own, advised if part else []), start=1
            ):
                told_at = {"session": session, "seq": turn, "role": role, "project": "", "date": day.isoformat()}
                document = Document(f"{session}.{turn}", "", text, {"kind": "chunk", **told_at})
                found.append(document)
                for question in questions:
                    asked.append(Question(f"q{len(asked)}", question, {document.id: 1}, role))
    return Corpus("assistants", found, asked)


def diary() -> Corpus:
    """What is told day by day in the same words: only the date decides."""
    random, found, asked = Random(2), list[Document](), list[Question]()
    themes = [
        (text, question, values.split("; "))
        for text, question, values in (_split(line, " ?? ", " > ") for line in _lines("diary"))
    ]
    today = date(2026, 6, 18)
    days = [today - timedelta(days=back) for back in range(170, 0, -1) if back % 2 or back < 16]
    told: dict[tuple[str, date], str] = {}
    for day in days:
        session = f"d{day:%m%d}"
        for turn, (text, question, values) in enumerate(random.sample(themes, 4), start=1):
            id = f"{session}.{turn}"
            place = {"session": session, "seq": turn, "role": "user", "project": "", "date": day.isoformat()}
            found.append(Document(id, "", text.format(v=random.choice(values)), {"kind": "chunk", **place}))
            told[question, day] = id
    asked_at = datetime.combine(today, datetime.min.time(), UTC) + timedelta(hours=12)
    places = list(told)
    random.shuffle(places)
    for question, day in places:
        for sort, phrase in _phrases(day, today):
            answers = {told[question, one]: 1 for one in days if (question, one) in told and _fits(sort, one, day)}
            words = question.format(d=phrase)
            if words not in {known.text for known in asked}:
                asked.append(Question(f"q{len(asked)}", words, answers, sort, asked_at))
    return Corpus("diary", found, _few_of_each(asked, 40))


def changes() -> Corpus:
    """Facts that change: the last one holds. Some are worded alike, some anew, beside others that differ in a name."""
    random, chains, asked = Random(3), list[list[tuple[str, str]]](), list[Question]()
    current: dict[tuple[str, str], tuple[str, str]] = {}
    two_steps: list[tuple[str, str, str]] = []
    for names, wordings, values, question, second in sections("changes"):
        for name in names:
            wording = random.choice(wordings) if random.random() < 0.6 else ""
            chain = []
            for value in random.sample(values, random.choice((2, 2, 3, 3, 4))):
                text = (wording or random.choice(wordings)).format(e=name, v=value)
                chain.append((f"f{len(chains)}.{len(chain)}", text[0].upper() + text[1:] + "."))
            chains.append(chain)
            current[question, name] = chain[-1][0], value
            asked.append(Question(f"q{len(asked)}", question.format(e=name), {chain[-1][0]: 1}, "current"))
            if second:
                two_steps.append((second, name, value))
    by_value: dict[str, list[tuple[str, str]]] = {}
    for (question, name), (id, _) in current.items():
        by_value.setdefault(name, []).append((question, id))
    for second, name, value in two_steps:
        wanted = "live" if "live" in second else "instrument"
        hops = [id for question, id in by_value.get(value, []) if wanted in question]
        if hops:
            asked.append(Question(f"q{len(asked)}", second.format(e=name), {hops[0]: 1}, "two steps"))
    # Told in the order of time, the chains mixed: each keeps its own order.
    turns = [number for number, chain in enumerate(chains) for _ in chain]
    random.shuffle(turns)
    start, left = datetime(2026, 1, 1, 9, tzinfo=UTC), [iter(chain) for chain in chains]
    found = []
    for hour, number in enumerate(turns):
        name, text = next(left[number])
        found.append(Document(name, "", text, {"kind": "fact", "date": (start + timedelta(hours=hour)).isoformat()}))
    return Corpus("changes", found, asked)


def beliefs() -> Corpus:
    """Many beliefs of one person, and situations in which one or two of them matter."""
    found, asked = list[Document](), list[Question]()
    for line in _lines("beliefs"):
        if line.startswith(">> "):
            situation, numbers = _split(line[3:], " ?? ")
            asked.append(Question(f"q{len(asked)}", situation, {f"b{number}": 1 for number in numbers.split()}))
        else:
            number, text = _split(line, " ")
            found.append(Document(f"b{number}", "", text, {"kind": "fact", "category": "preference"}))
    return Corpus("beliefs", found, asked)


def documents() -> Corpus:
    """Long texts with headings: the project's own pages."""
    pages = [page for page in sorted(PAGES.rglob("*.md")) if page.stem not in NOT_DOCUMENTS]
    found = [
        Document(
            page.relative_to(PAGES).with_suffix("").as_posix(), "", page.read_text(), {"kind": "entry", "tags": []}
        )
        for page in pages
    ]
    asked = [
        Question(f"q{number}", question, {answer: 1})
        for number, (question, answer) in enumerate(_split(line, " ?? ") for line in _lines("documents"))
    ]
    return Corpus("documents", found, asked)


def errors() -> Corpus:
    """Texts of errors with what helped."""
    return _pairs("errors", kind="entry", tags=[])


def languages() -> Corpus:
    """Memories in eight languages, asked in their own."""
    return _pairs("languages", kind="fact", category="codebase")


def multilingual() -> Corpus:
    """Memories in eleven languages, asked in their own: what is asked has other endings than what was stored."""
    return _pairs("multilingual", kind="fact", category="codebase")


def misspelt(corpus: Corpus) -> Corpus:
    """Return a corpus with one misspelt word in each question: its longest one, as hands slip."""
    random = Random(4)
    asked = [replace(question, text=_misspell(random, question.text)) for question in corpus.questions]
    return replace(corpus, questions=asked)


def _topics() -> Iterator[tuple[str, list[str], list[tuple[str, str]], list[tuple[str, str]]]]:
    for block in "\n".join(_lines("assistants")).removeprefix("= ").split("\n= "):
        first, *lines = block.split("\n")
        topic, words = _split(first, ": ")
        told, advised = (
            [tuple(_split(line[2:], " ?? ")) for line in lines if line.startswith(sign)] for sign in ("-", "+")
        )
        yield topic, words.split(", "), told, advised


def _conversation(
    random: Random, topic: str, words: list[str], told: Sequence[tuple[str, str]], advised: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield role, text and questions of each message."""
    for turn, (statement, question) in enumerate(told):
        one, other = random.sample(words, 2)
        before = OPENINGS if not turn else THANKS
        parts = [random.choice(before), statement, random.choice(WISHES)]
        yield "user", " ".join(part.format(topic=topic, one=one, other=other) for part in parts), [question]
        yield "assistant", *_answer(random, topic, words, advised if turn == len(told) - 1 else [])
        yield "user", random.choice(THANKS).format(one=other) + f" And what about {random.choice(words)}?", []
        yield "assistant", *_answer(random, topic, words, [])


def _answer(random: Random, topic: str, words: list[str], advised: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    paragraphs = []
    for template in random.choices([*_lines("advice")], k=random.randint(5, 9)):
        one, other = random.sample(words, 2)
        paragraphs.append(template.format(topic=topic, one=one, One=one.capitalize(), other=other))
    for statement, _ in advised:
        place = random.randrange(len(paragraphs))
        paragraphs[place] = f"{paragraphs[place]} {statement}"
    paragraphs.append(CLOSING.format(one=random.choice(words)))
    return "\n\n".join(paragraphs), [question for _, question in advised]


def _phrases(day: date, today: date) -> Iterator[tuple[str, str]]:
    """Yield ways of naming a day, as of today."""
    back = (today - day).days
    yield "day", f"on {day.day} {day:%B}"
    yield "month", f"in {day:%B}"
    if back == 1:
        yield "relative", "yesterday"
    elif 1 < back < 7:
        yield "relative", f"last {day:%A}"
        yield "relative", f"{('', 'one', 'two', 'three', 'four', 'five', 'six')[back]} days ago"
    elif back == 7:
        yield "relative", "a week ago"


def _fits(sort: str, one: date, day: date) -> bool:
    return (one.year, one.month) == (day.year, day.month) if sort == "month" else one == day


def _few_of_each(questions: list[Question], most: int) -> list[Question]:
    kept: dict[str, list[Question]] = {}
    for question in questions:
        kept.setdefault(question.sort, []).append(question)
    return [question for sort in kept.values() for question in sort[:most]]


def sections(name: str) -> Iterator[tuple[list[str], list[str], list[str], str, str]]:
    """Yield of each section of a file its things, wordings, values, question, and question over two steps."""
    for block in "\n".join(_lines(name)).removeprefix("= ").split("\n= "):
        names, *lines = block.split("\n")
        of: Callable[[str], list[str]] = lambda sign, lines=lines: [  # noqa: E731
            line.removeprefix(f"{sign} ") for line in lines if line.startswith(f"{sign} ")
        ]
        (values,), (question,) = of(">"), of("??")
        yield names.split("; "), of("-"), values.split("; "), question, "".join(of("&"))


def _pairs(name: str, **metadata: object) -> Corpus:
    found, asked, sort = list[Document](), list[Question](), ""
    for line in _lines(name):
        if line.startswith("["):
            sort = line.strip("[]")
            continue
        text, *questions = line.split(" ?? ")
        document = Document(f"{name[0]}{len(found)}", "", text, dict(metadata))
        found.append(document)
        asked += [
            Question(f"q{len(asked) + place}", one, {document.id: 1}, sort) for place, one in enumerate(questions)
        ]
    return Corpus(name, found, asked)


def _misspell(random: Random, text: str) -> str:
    words = text.split()
    letters = [word for word in words if word.strip("?.,!").isalpha()] or words
    longest = max(letters, key=len)
    place = random.randrange(1, max(2, len(longest.strip("?.,!")) - 1))
    slips = (
        longest[:place] + longest[place + 1 :],
        longest[:place] + longest[place] + longest[place:],
        longest[:place] + longest[place + 1 : place + 2] + longest[place] + longest[place + 2 :],
        longest[:place] + random.choice(LETTERS) + longest[place + 1 :],
    )
    slip = random.choice([one for one in slips if one != longest])
    return " ".join(slip if word == longest else word for word in words)


def _halved(told: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    return [told[:1], told[1:]]


def _split(line: str, *marks: str) -> list[str]:
    parts = [line]
    for mark in marks:
        *before, last = parts
        parts = [*before, *last.split(mark, 1)]
    return parts


def _lines(name: str) -> Iterator[str]:
    for line in (TEXTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            yield line
