"""How stored names read on pages: statuses, roles, kinds. They are stored and sent to agents in English."""

from collections.abc import Iterable

from bigmind.core.translation import _, gettext_lazy

NAMES = (
    # Fields of forms that are called like their argument.
    "Action / Aliases / Category / Collections / Confidence / Content / Domain / Entry type / Events"
    " / Evidence / Freshness / Importance / Keywords / Label / Order / Outcome / Owner / Password"
    " / Preferences / Project / Projects / Publisher / Reason / Risk / Role / Roles / Source file"
    " / Source story / Status / Steps / Subcategory / Tags / Team / Text / Topic / Topics / Trigger / Type"
    " / Value / Version / Why",
    # Kinds of lines of charts, and ways to connect.
    "Run this once in a terminal / Any other client / proposals / rejected / errors / median",
    # What ended a version of a reference.
    "import / edit / removal",
    # Parts of an instance, and what is kept of what agents did.
    "replica / writes / index / database / migrations / disk / clock / broker / embedder / scheduler / worker"
    " / indexes / guards / backups / search / pgvector / data folder / imported / superseded",
    # What a check of code found.
    "holds / moved / doubtful / false / unknown",
    # Roles, and who speaks.
    "member / curator / admin / assistant / system",
    # Categories of facts and of company knowledge, types of entries and of documentation.
    "preference / constraint / codebase / architecture / standard / pattern / glossary / template / api"
    " / guide / feature / troubleshooting / setting / API Endpoint",
    # What lists are of, besides kinds of memory.
    "Entries",
    # Statuses and states.
    "verified / due / stale / never / open / dismissed / declined / withdrawn / confirmed / refuted"
    " / abandoned / active / ending / expired / revoked / replaced / waiting / connected / silent"
    " / registered / arrived / ok / refused / invalid / forbidden / not_found / conflict / too_many"
    " / read_only",
    # Whose act it was.
    "you",
    # Verdicts, relevance, concerns, steps.
    "useful / wrong / outdated / strong / weak",
    # Answers to what is suggested for tidying.
    "merge / keep / archive / summarize / replace",
    # How far triggers go, how memory is written, where a setting comes from.
    "off / shadow / advise / ask / block / automatic / manual / Default"
    " / Environment / File / This page / read / write / curate",
    # Signs of prompt injections.
    "encoded instruction / letters of two alphabets",
)
"""What `word_of` is given besides choices of models, kinds of memory, signs and toolsets: each topic in one text."""


def word_of(stored: object) -> str:
    """Say a stored name, such as a status or a role, in the reader's language; one that is not known stays."""
    return _(str(stored)) if stored else ""


def lazy_word(stored: str) -> str:
    """Say a stored name of a module, such as a label, when it is printed."""
    return gettext_lazy(stored) if stored else stored


def choices_in_words(choices: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return choices with their labels in the reader's language."""
    return [(value, lazy_word(label)) for value, label in choices]
