"""Languages: which of PostgreSQL's dictionaries a text is stemmed with, recognized from the text itself.

A naive Bayes classifier over byte sequences (Lui and Baldwin, 2012, as `py3langid` has it) compares the languages that
PostgreSQL has a dictionary for. It needs no common words, which short facts hardly have. docs/decisions/0038 has the
figures.
"""

import re
from functools import partial
from pathlib import Path

import numpy as np
from django.conf import settings
from py3langid import __version__
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bigmind.core.load_once import load_once
from bigmind.core.unpacked_files import read_unpacked
from bigmind.text.languages import CODES, ENGLISH

SURE = 10.0
"""By how much, in units of the logarithm of likelihood, another language must exceed the usual one. Identifiers, names
and abbreviations reach 7, sentences of four words 20."""
# Scripts that put no spaces between words: PostgreSQL takes a whole clause for one word. Korean has spaces, but what
# follows a noun is written with it.
UNSPACED = re.compile("[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_OF_CODE = {code: name for name, code in CODES.items()}
READ_CHARS = 1_000
"""Characters by which a language is recognized: more would only cost time."""


def language_of(text: str) -> str:
    """Return the name of PostgreSQL's dictionary for a text; that of BIGMIND_LANGUAGE when it is too short to tell.

    Chinese, Japanese and Korean have none: they are searched by pairs of characters, whatever this returns.
    """
    usual = str(settings.LANGUAGE)
    likely = dict(_identifier().rank(UNSPACED.sub(" ", text[:READ_CHARS])))
    language = _OF_CODE[max(_OF_CODE, key=likely.__getitem__)]
    return language if likely[CODES[language]] - likely[CODES[usual]] >= SURE else usual


def dictionary_of(text: str) -> str:
    """Return what `Passage.language` says of a text: empty for English, by which everything is stemmed anyway."""
    language = language_of(text)
    return "" if language == ENGLISH else language


@load_once
def _identifier() -> LanguageIdentifier:
    """Return the classifier. The package has it compressed, with many more languages: unpacking takes half a second."""
    codes = list(CODES.values())
    identifier = read_unpacked("languages", f"{__version__} {codes}", partial(_read_package, codes))
    # Numbers of a buffer come out as Python's, which is quicker than numpy's.
    identifier.tk_nextmove, identifier.tk_output = identifier.tk_nextmove.data, identifier.tk_output.data
    return identifier


def _read_package(codes: list[str]) -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(Path(MODEL_FILE))
    identifier.set_languages(codes)
    # The other languages, which nothing reads again (28 MB), and what it has made a list of its own from.
    identifier._full_model = identifier.tk_row = ()
    identifier.tk_nextmove = np.asarray(identifier.tk_nextmove, np.uint32)
    identifier.tk_output = np.asarray(identifier.tk_output, np.int32)
    return identifier
