"""Languages: which of PostgreSQL's dictionaries a text is stemmed with, recognized from the text itself.

A naive Bayes classifier over byte sequences (Lui and Baldwin, 2012, as `py3langid` has it) compares the languages that
PostgreSQL has a dictionary for. It needs no common words, which short facts hardly have. docs/decisions/0038 has the
figures.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile

import numpy as np
from django.conf import settings
from py3langid import __version__
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bigmind.core.load_once import load_once
from bigmind.text.languages import CODES, ENGLISH

SURE = 10.0
"""By how much, in units of the logarithm of likelihood, another language must exceed the usual one. Identifiers, names
and abbreviations reach 7, sentences of four words 20."""
# Scripts that put no spaces between words: PostgreSQL takes a whole clause for one word. Korean has spaces, but what
# follows a noun is written with it.
UNSPACED = re.compile("[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
STATES, TABLES = "languages.npy", "languages.npz"
READ_CHARS = 1_000
"""Characters by which a language is recognized: more would only cost time."""


def language_of(text: str) -> str:
    """Return the name of PostgreSQL's dictionary for a text; that of BIGMIND_LANGUAGE when it is too short to tell.

    Chinese, Japanese and Korean have none: they are searched by pairs of characters, whatever this returns.
    """
    usual = str(settings.LANGUAGE)
    likely = dict(_identifier().rank(UNSPACED.sub(" ", text[:READ_CHARS])))
    language = max(CODES, key=lambda name: likely[CODES[name]])
    return language if likely[CODES[language]] - likely[CODES[usual]] >= SURE else usual


def dictionary_of(text: str) -> str:
    """Return what `Passage.language` says of a text: empty for English, by which everything is stemmed anyway."""
    language = language_of(text)
    return "" if language == ENGLISH else language


@load_once
def _identifier() -> LanguageIdentifier:
    """Return the classifier. The package has it compressed, with many more languages: unpacking takes half a second. So
    what is used of it is kept in files that are mapped into memory: pages are read when needed, and shared.
    """
    folder = Path(settings.UNPACKED)
    kept = _read_kept(folder)
    if kept is None:
        unpacked = LanguageIdentifier.from_model_file(Path(MODEL_FILE))
        unpacked.set_languages(list(CODES.values()))
        unpacked._full_model = None  # The other languages: 28 MB that nothing reads again.
        _keep(unpacked, folder)
        kept = _read_kept(folder) or unpacked
    return kept


def _read_kept(folder: Path) -> LanguageIdentifier | None:
    try:
        states = np.load(folder / STATES, mmap_mode="r")
        with np.load(folder / TABLES) as tables:
            if str(tables["origin"]) != _origin() or len(states) != tables["states"]:
                return None
            identifier = LanguageIdentifier(
                tables["likelihoods"],
                tables["priors"],
                tables["languages"].tolist(),
                states.data,  # Numbers of a buffer come out as Python's, which is quicker than numpy's.
                tables["features"].data,
                tk_row=tables["rows"].tolist(),
            )
        identifier.tk_row = ()  # It has a list of its own, made of this one.
        return identifier
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None  # There is none yet, or it is damaged.


def _keep(unpacked: LanguageIdentifier, folder: Path) -> None:
    """Write the files, unless the disk refuses. Several processes may do so at once."""
    states = np.asarray(unpacked.tk_nextmove, np.uint32)
    tables = {
        "origin": _origin(),
        "states": len(states),
        "likelihoods": unpacked.nb_ptc,
        "priors": unpacked.nb_pc,
        "languages": unpacked.nb_classes,
        "features": np.asarray(unpacked.tk_output, np.int32),
        "rows": np.asarray(unpacked.tk_row, np.uint32),
    }
    with suppress(OSError):
        _replace(folder / STATES, lambda file: np.save(file, states))
        _replace(folder / TABLES, lambda file: np.savez(file, **tables))


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that is there as a whole or not at all, also after a power failure."""
    own = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        with own.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        own.replace(path)
    finally:
        own.unlink(missing_ok=True)


def _origin() -> str:
    return f"{__version__} {' '.join(CODES.values())}"
