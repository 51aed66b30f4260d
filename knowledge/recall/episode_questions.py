"""Episode questions: those about the memory itself, as “what did we do yesterday?”, in English and German.

A question is one of them if nothing is left of it beside the words of its kind and a time: “what did we do about the
login?” asks for something else. Words are looked up one by one, so nothing here takes longer than its text is long.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bigmind.text.hygiene import without_accents
from bigmind.text.periods import Period, find_period_and_words
from knowledge.search.question_periods import words_of

Ask = Literal["sessions", "stop", "open", "person", "preferences", "decisions", "last"]


@dataclass(frozen=True)
class EpisodeQuestion:
    """What a question asks of the memory itself; `topic` is what about, and `period` when, if it says so."""

    ask: Ask
    topic: str = ""
    is_last: bool = False
    period: Period | None = None


def _set(words: str) -> frozenset[str]:
    return frozenset(without_accents(words).split())


def _phrases(text: str) -> list[tuple[str, ...]]:
    return [tuple(phrase.split()) for phrase in without_accents(text).replace("\n", "|").split("|") if phrase.strip()]


# The first that a question begins with, or is, decides. `…` has the words that may follow.
_WHOLE: dict[Ask, list[tuple[str, ...]]] = {
    "stop": _phrases(
        """where we stopped | where did we end up | where did we get to | how far did we get | wie weit waren wir |
        was war unser letzter stand | wo sind wir |
        where did we leave off | where did we stop | where were we | where was i | where did i leave off
        where are we | where do we stand | where did i stop | where we left off | pick up where we left off
        continue where we left off | continue where we stopped | let s continue where we left off
        resume where we left off | what was i doing | what were we doing | what were we working on
        what was i working on | catch me up | bring me up to speed | wo waren wir stehengeblieben
        wo waren wir stehen geblieben | wo sind wir stehengeblieben | wo waren wir
        wo sind wir stehen geblieben | wo stehen wir | wo haben wir aufgehört | wo habe ich aufgehört
        wo war ich | wo standen wir | wie ist der stand | was ist der stand | was war der stand
        weiter wo wir aufgehört haben | mach da weiter wo wir aufgehört haben
        lass uns da weitermachen wo wir aufgehört haben | woran waren wir"""
    ),
    "open": _phrases(
        """what are my open todos | what are the open todos | my todos | what s on my todo list
        what is on my todo list | what are the open hypotheses | which hypotheses are open | open hypotheses
        what s unfinished | was steht als nachstes an | was gibt s noch zu tun | was gibt es noch zu tun
        was ist unerledigt
        what is still open | what s still open | what is open | what is left to do | what s left to do
        what is left | what s left | what remains | what remains to be done | what remains to do
        what is still to do | what s next | what is next | what are the next steps | what are our next steps
        what were the next steps | next steps | what are the open points | open points | open todos
        what should i do next | what should we do next | what do we do next | what do i do next
        what is unfinished | what did we not finish | what is pending | what s pending | what are my open tasks
        what are the open tasks | any open tasks | any open work | what is the open work | open work
        what is on my plate | what still needs to be done | what else is open | anything still open
        is anything still open | what do i still have to do | what do we still have to do | was ist noch offen
        was ist offen | was steht noch an | was steht an | was bleibt noch | was bleibt zu tun
        was ist noch zu tun | was ist zu tun | was muss noch gemacht werden | was kommt als nächstes
        was ist als nächstes dran | was sind die nächsten schritte | nächste schritte | was fehlt noch
        was haben wir noch offen | offene punkte | was liegt noch an | ist noch etwas offen | ist noch was offen
        was müssen wir noch tun | was muss ich noch tun | was war noch offen | welche aufgaben sind offen
        welche aufgaben sind noch offen | womit geht es weiter | wie geht es weiter"""
    ),
    "person": _phrases(
        """what do you have stored about me | what s my name | what is my name | who do you think i am
        wie heisse ich | who am i | who am i to you | what do you know about me | tell me about me
        tell me what you know about me | what do you remember about me | what have you learned about me
        what have you stored about me | do you know me | do you know who i am | do you remember me
        what is stored about me | what do you have on me | what information do you have about me | describe me
        my profile | what is my profile | what s my role | what is my role | wer bin ich | wer bin ich für dich
        was weißt du über mich | was weisst du über mich | was weißt du von mir | weißt du wer ich bin
        kennst du mich | erinnerst du dich an mich | was hast du über mich gespeichert
        was ist über mich gespeichert | was merkst du dir über mich | was ist meine rolle | mein profil
        was hast du dir über mich gemerkt | erzähl mir was du über mich weißt"""
    ),
    "preferences": _phrases(
        """what are my preferences | my preferences | what do i prefer | what do i like | how do i like things done
        how do i like to work | what preferences do i have | what are my settings and preferences
        which preferences do you know | was sind meine vorlieben | meine vorlieben | was mag ich
        was bevorzuge ich | welche vorlieben habe ich | was sind meine präferenzen | meine präferenzen
        wie arbeite ich gern | wie arbeite ich gerne | wie hätte ich es gern | wie hätte ich es gerne"""
    ),
    "sessions": _phrases(
        """what happened | recap | summary | give me a recap | give me a summary | what s new | what is new
        anything new | was war | was gab es neues | was ist passiert | was ist neu | zusammenfassung | rückblick"""
    ),
}
_ASK_OF_WHOLE = {phrase: ask for ask, phrases in reversed(_WHOLE.items()) for phrase in phrases}
_LONGEST_WHOLE = max(map(len, _ASK_OF_WHOLE))
_ABOUT: dict[Ask, list[tuple[str, ...]]] = {
    "decisions": _phrases(
        """what did we decide | what have we decided | what did i decide | what was decided | what have i decided
        what did we agree | what was agreed | what decision did we make | what decisions did we make
        which decisions did we make | what decisions have we made | what were our decisions
        what are our decisions | our decisions | decisions | recent decisions | did we decide | have we decided
        what was our decision | what is our decision | what did we settle | was haben wir entschieden
        was haben wir beschlossen | was wurde entschieden | was wurde beschlossen | was habe ich entschieden
        welche entscheidungen haben wir getroffen | welche entscheidung haben wir getroffen
        unsere entscheidungen | wie haben wir entschieden | wie haben wir uns entschieden
        wofür haben wir uns entschieden | was haben wir vereinbart | haben wir entschieden"""
    ),
    "last": _phrases(
        """when did we last | when did i last | when was the last time we | when was the last time i
        when have we last | wann haben wir zuletzt | wann habe ich zuletzt | wann haben wir das letzte mal
        wann habe ich das letzte mal | wann war das letzte mal dass wir | wann ging es zuletzt"""
    ),
}
_TOPIC_STARTS = _set(
    "about on regarding concerning for with to in as über zu zum zur wegen bezüglich bei für im mit an"
)
_LAST_VERBS = _set(
    "talk talked speak spoke work worked discuss discussed touch touched look looked deal about on at the "
    "gesprochen über gearbeitet an am"
)
_GERMAN_DECIDED = frozenset({"entschieden", "beschlossen", "vereinbart", "festgelegt", "abgemacht"})

_ACTS = _set(
    "did do doing done worked working work accomplish accomplished achieve achieved finish finished talk talked "
    "discuss discussed happened happen came learn learned learnt change changed sessions session recap summary "
    "summarize summarise getan gemacht gearbeitet geschafft besprochen gelernt erledigt sitzung sitzungen "
    "fix fixed ship shipped build built write wrote written implement implemented solve solved merge merged release "
    "released complete completed behoben gebaut geschrieben gelöst umgesetzt ausgeliefert "
    "passiert geredet gesprochen zusammenfassung zusammen herausgekommen rausgekommen geändert"
)
_TELLS = _ACTS | _set(
    "hab up s any progress made what which things thing stuff have has had does was were is are been be the a an all "
    "i we you our my me us that of in on at to get got out it for so last latest previous time times conversation "
    "chat meeting meetings call day recently lately far about happening come new list show tell give remind most "
    "recent remember and since from during wir ich haben habe hast hatten hatte woran worüber ist sind war waren "
    "wurde zuletzt letzte letzten letztes letzter mal gespräch das die der den dem alles neulich kürzlich fertig über "
    "am im bei unser unsere unserer unserem zum beim fass zeig mir uns heraus kam dabei seit"
)
"""Nothing but these, and a time, is in a question for sessions."""
_MEETINGS = _set("thing meeting meetings call conversation gespräch chat")
_LASTS = _set("last latest previous recent recently lately zuletzt letzte letzten letztes letzter neulich kürzlich")
_POLITE = _set(
    "please hey hi hello ok okay so and now again today then bitte also nun und denn eigentlich nochmal noch "
    "mal hallo can could you tell me remind kannst du mir sagen exactly genau just but actually"
)
_STARTS = _phrases(
    """what did we do | what did i do | what did we work on | what did i work on | what have we done
        what have i done | what did we get done | what did i get done | what did we talk about | what did we discuss
        what did we finish"""
)
_GERMAN_STARTS = _phrases(
    "was haben wir | was habe ich | was hab ich | woran haben wir | woran habe ich | was hatten wir"
)
_GERMAN_DONE = _set("gemacht getan gearbeitet geschafft erledigt besprochen")
_TOPIC_WORDS = 4
_MOST_WORDS = 24


def read_episode_question(query: str) -> EpisodeQuestion | None:
    """Return what a question asks of the memory itself; None for any other question."""
    words = words_of(without_accents(query))
    if not words or len(words) > _MOST_WORDS:
        return None
    period, timed = find_period_and_words(query)
    question = _read(words, timed)
    return replace(question, period=period) if question and period else question


def _read(words: Sequence[str], timed: Collection[str]) -> EpisodeQuestion | None:
    """Return what these words ask, of which `timed` name a time."""
    core = _without_politeness(words)
    if ask := _whole(core, timed) or _whole(words, timed):
        return EpisodeQuestion(ask)
    for ask, phrases in _ABOUT.items():
        for phrase in phrases:
            if tuple(core[: len(phrase)]) == phrase and (found := _about(ask, core[len(phrase) :], timed)):
                return found
    return _german_decision(core, timed) or _activity(core, timed)


def _without_politeness(words: Sequence[str]) -> list[str]:
    start = 0
    while start < len(words) and words[start] in _POLITE and len(words) - start > 2:
        start += 1
    end = len(words)
    while end > start + 2 and words[end - 1] in {
        "please",
        "bitte",
        "again",
        "nochmal",
        "denn",
        "eigentlich",
        "now",
        "exactly",
    }:
        end -= 1
    return list(words[start:end])


def _whole(words: Sequence[str], timed: Collection[str]) -> Ask | None:
    """Return what a question asks for that is a phrase, and beside it only a time, or “last time”."""
    after = _AFTERTHOUGHTS.union(timed)
    for length in range(1, min(len(words), _LONGEST_WHOLE) + 1):
        if (ask := _ASK_OF_WHOLE.get(tuple(words[:length]))) and after.issuperset(words[length:]):
            return ask
    return None


_AFTERTHOUGHTS = _set(
    "last time the in our this project here for me us with to do today now from yesterday session conversation "
    "previous of and what did we beim letzten mal zuletzt gestern heute hier für mich uns noch jetzt im projekt "
    "diesem und"
)


def _about(ask: Ask, rest: Sequence[str], timed: Collection[str]) -> EpisodeQuestion | None:
    skipped = _TOPIC_STARTS | _LAST_VERBS if ask == "last" else _TOPIC_STARTS | {"the"}
    topic = list(rest)
    while topic and (topic[0] in skipped or topic[0] in timed):
        topic.pop(0)
    if ask == "last":
        topic = [word for word in topic if word not in _LAST_VERBS]
    has_start = bool(rest) and rest[0] in _TOPIC_STARTS
    if ask == "last":
        return EpisodeQuestion(ask, " ".join(topic)) if topic else EpisodeQuestion("sessions", is_last=True)
    if rest and not has_start and not all(word in timed or word in _TELLS for word in rest):
        # “Did we decide whether…” has its topic at once, too.
        return (
            EpisodeQuestion(ask, " ".join(topic)) if rest[0] in {"whether", "if", "where", "how", "who", "ob"} else None
        )
    return EpisodeQuestion(ask, " ".join(word for word in topic if word not in timed))


def _german_decision(words: Sequence[str], timed: Collection[str]) -> EpisodeQuestion | None:
    """Read “was haben wir zu Kafka entschieden”, whose verb comes last."""
    starts = (
        ("was", "haben", "wir"),
        ("was", "hatten", "wir"),
        ("was", "wurde"),
        ("wie", "haben", "wir"),
        ("was", "habe", "ich"),
        ("wozu", "haben", "wir"),
        ("wofur", "haben", "wir"),
    )
    start = next((one for one in starts if tuple(words[: len(one)]) == one), None)
    if start is None or words[-1] not in _GERMAN_DECIDED:
        return None
    topic = list(words[len(start) : -1])
    while topic and topic[0] in _TOPIC_STARTS | {"uns", "das", "dem", "der", "die", "den"}:
        topic.pop(0)
    return EpisodeQuestion("decisions", " ".join(word for word in topic if word not in timed))


def _activity(words: Sequence[str], timed: Collection[str]) -> EpisodeQuestion | None:
    """Read what asks for sessions: of a time, or of late."""
    rest = [word for word in words if word not in timed]
    if (
        timed
        and _begins_activity(words)
        and len(about := [word for word in rest if word not in _TELLS]) <= _TOPIC_WORDS
    ):
        return EpisodeQuestion("sessions", " ".join(about))
    is_last = not _LASTS.isdisjoint(words)
    names_act = not _ACTS.isdisjoint(rest) or (is_last and not _MEETINGS.isdisjoint(words))
    if not (names_act and (timed or is_last)):
        return None
    return EpisodeQuestion("sessions", is_last=is_last and not timed) if all(word in _TELLS for word in rest) else None


def _begins_activity(words: Sequence[str]) -> bool:
    """Whether a question begins as one for what was done, and may say on what: “… on Friday on billing?”."""
    if tuple(words[:3]) in _GERMAN_STARTS:
        return words[-1] in _GERMAN_DONE
    return any(tuple(words[: len(start)]) == start for start in _STARTS)
