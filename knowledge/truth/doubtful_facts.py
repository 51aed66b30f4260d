"""What a text says of itself that makes it doubtful as a lasting fact. It is stored all the same, and told last."""

from collections.abc import Iterable

from knowledge.models import Category

from .statement_words import word_set

GREETING, PASSING, CONTEXT = "a greeting", "passing", "a line of the start context"
MOST_CHARS = 300
"""A longer text says more than a greeting or how something stands at the moment."""

_GREETINGS = {"schön", "días", "tschüss", "adiós"} | word_set(
    "hi hello hey hallo hola bonjour bonsoir moin servus thanks thank you danke schön merci beaucoup gracias good "
    "guten morning morgen evening abend tag buenos buenas días tardes bye goodbye tschüss adiós ok okay"
)
_ENDS_NOW = (
    *(" right now", " just now", " at the moment", " at this moment", " gerade eben", " im moment"),
    *(" en ce moment", " ahora mismo", " en este momento"),
)
_LABELS = tuple(f"**[{category}]** " for category in Category.values)


def why_doubtful(text: str) -> str:
    """Return why a text is hardly a lasting fact, as far as its own words say so; empty where they don't."""
    return why_doubtful_each([text])[0]


def why_doubtful_each(texts: Iterable[str]) -> list[str]:
    """Return the same of each of several texts."""
    doubts = []
    for text in texts:
        words, doubt = text.casefold().strip(" .!¡,…") if len(text) <= MOST_CHARS else "", ""
        if text.removeprefix("- ").startswith(_LABELS) or "BigMind Context — loaded" in text[:MOST_CHARS]:
            doubt = CONTEXT
        elif words and set(words.replace(",", " ").replace("!", " ").split()) <= _GREETINGS:
            doubt = GREETING
        # Elsewhere these words may belong to a rule: “Im Moment der Buchung wird die Rechnung erstellt.”
        elif words.endswith(_ENDS_NOW):
            doubt = PASSING
        doubts.append(doubt)
    return doubts
