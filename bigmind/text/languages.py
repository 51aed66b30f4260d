"""The languages whose words are stemmed: those of PostgreSQL's dictionaries, each with its ISO 639 code."""

from typing import Final, Literal, get_args

Language = Literal[
    "english",
    "arabic",
    "danish",
    "dutch",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "turkish",
]
ENGLISH: Final = "english"
_ISO = ("en", "ar", "da", "nl", "fi", "fr", "de", "el", "hu", "it", "no", "pt", "ro", "ru", "es", "sv", "tr")
CODES: Final[dict[str, str]] = dict(zip(get_args(Language), _ISO, strict=True))
