"""An endpoint that is right, slow, overloaded, failing, away, or wrong (T7)."""

import json
import math
import struct
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from knowledge.embeddings.openai_compatible import OpenAICompatible
from knowledge.embeddings.providers import EmbedderBroken, EmbedderDown, TextsRefused
from tests.knowledge.embeddings.endpoint import Answer


def test_a_batch_is_one_request_and_its_vectors_are_of_length_one(endpoint, embedder):
    vectors = embedder.embed(["ab", "abcd"])

    np.testing.assert_allclose(vectors, [[0.9486833, 0.3162278, 0], [0.9805807, 0.1961161, 0]], atol=1e-6)
    assert [(asked["path"], asked["model"], asked["input"]) for asked in endpoint.requests] == [
        ("/v1/embeddings", "three-numbers", ["ab", "abcd"])
    ]


def test_vectors_are_read_from_base64_as_openai_sends_them(endpoint, embedder):
    packed = b64encode(struct.pack("<3f", 3, 4, 0)).decode()
    endpoint.answers.append(Answer(body=json.dumps({"data": [{"index": 0, "embedding": packed}]})))

    vectors = embedder.embed(["a"])

    np.testing.assert_allclose(vectors, [[0.6, 0.8, 0]], atol=1e-6)


def test_an_answer_in_another_order_is_put_right(endpoint, embedder):
    expected = embedder.embed(["a", "abcd"])
    swapped = Answer(
        lambda texts: [[len(text) + 1, 1, 0] for text in reversed(texts)], indexes=lambda n: range(n)[::-1]
    )
    endpoint.answers.append(swapped)

    vectors = embedder.embed(["a", "abcd"])

    np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_an_endpoint_in_trouble_is_down(endpoint, embedder, status):
    endpoint.answers.append(Answer(status=status))

    with pytest.raises(EmbedderDown, match=str(status)) as down:
        embedder.embed(["a"])

    assert down.value.retry_after is None
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        # Some hours ahead: the suite may take long to come from here to the test.
        (format_datetime(datetime.now(UTC) + timedelta(hours=10), usegmt=True), 5 * 3600, 10 * 3600),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("-3", 0, 0),
    ],
    # The time of day in a name would differ from one process of the suite to the next.
    ids=["seconds", "a moment", "a moment that is over", "less than nothing"],
)
def test_what_the_endpoint_asks_for_is_heard(endpoint, embedder, header, least, most):
    endpoint.answers.append(Answer(status=429, headers={"Retry-After": header}))

    with pytest.raises(EmbedderDown) as down:
        embedder.embed(["a"])

    assert least <= down.value.retry_after <= most


def test_a_retry_after_that_means_nothing_is_passed_over(endpoint, embedder):
    endpoint.answers.append(Answer(status=503, headers={"Retry-After": "soon"}))

    with pytest.raises(EmbedderDown) as down:
        embedder.embed(["a"])

    assert down.value.retry_after is None


def test_a_silent_endpoint_is_given_up(endpoint, embedder):
    endpoint.answers.append(Answer(is_silent=True))

    with pytest.raises(EmbedderDown, match="in time"):
        embedder.embed(["a"], timeout=0.2)


def test_a_closed_port_is_down(endpoint, embedder):
    endpoint.__exit__()

    with pytest.raises(EmbedderDown, match="cannot be reached"):
        embedder.embed(["a"])


@pytest.mark.parametrize("status", [401, 403, 404, 307])
def test_a_wrong_key_address_or_model_needs_a_person(endpoint, embedder, status):
    endpoint.answers.append(Answer(status=status, headers={"Location": f"{endpoint.url}/elsewhere"}))

    with pytest.raises(EmbedderBroken, match=f"{status}.*key"):
        embedder.embed(["a"])

    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_texts_that_the_endpoint_will_not_take_are_told_apart(endpoint, embedder, status):
    endpoint.answers.append(Answer(status=status))

    with pytest.raises(TextsRefused, match=str(status)):
        embedder.embed(["a"])


@pytest.mark.parametrize(
    "answer",
    [
        Answer(lambda texts: [[1.0, 2.0]] * len(texts)),
        Answer(lambda texts: [[1.0, math.nan, 2.0]] * len(texts)),
        Answer(lambda texts: [[1.0, math.inf, 2.0]] * len(texts)),
        Answer(lambda texts: [[1.0, None, 2.0]] * len(texts)),
        Answer(lambda texts: [[0.0, 0.0, 0.0]] * len(texts)),
        Answer(lambda texts: [[1.0, 2.0, 3.0]] * (len(texts) - 1)),
        Answer(lambda texts: [[1.0, 2.0, 3.0]] * (len(texts) + 1)),
        Answer(lambda texts: []),
        Answer(indexes=lambda n: [0] * n),
        Answer(indexes=lambda n: range(1, n + 1)),
        Answer(body="<html>It works!</html>", headers={"Content-Type": "text/html"}),
        Answer(body="<html>It works!</html>"),
        Answer(body='{"object": "list"}'),
        Answer(body='{"data": [7]}'),
        Answer(body='{"data": [{"index": 0}, {"index": 1}]}'),
        Answer(body='{"data": {}}'),
        Answer(body="null"),
        Answer(body='{"data": [{"index": 0, "embedding": "not base64"}, {"index": 1, "embedding": "AAA"}]}'),
    ],
    ids=[
        *("wrong dimension", "NaN", "infinity", "null", "zeros", "too few", "too many", "none", "one place for all"),
        *(
            "places from one",
            "a page",
            "a page called JSON",
            "no data",
            "numbers",
            "no vectors",
            "an object",
            "nothing",
        ),
        "broken base64",
    ],
)
def test_an_answer_that_must_not_be_stored_is_refused(endpoint, embedder, answer):
    endpoint.answers.append(answer)

    with pytest.raises(EmbedderBroken):
        embedder.embed(["a", "b"])


def test_reasons_quote_neither_texts_nor_key(endpoint):
    embedder = OpenAICompatible(url=endpoint.url, model="m", dimensions=3, key="sk-secret")
    said = '{"error": {"message": "Wrong key sk-secret for my diary"}}'
    endpoint.answers.append(Answer(status=401, body=said))

    with pytest.raises(EmbedderBroken) as broken:
        embedder.embed(["my diary"])

    assert "diary" not in broken.value.reason + repr(embedder)
    assert "sk-secret" not in broken.value.reason + repr(embedder)


def test_a_key_meant_for_openai_goes_nowhere_else(endpoint, embedder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai")

    embedder.embed(["a"])

    assert "sk-for-openai" not in endpoint.requests[0]["key"]


def test_only_with_a_key_it_is_paid(endpoint, embedder):
    with_key = OpenAICompatible(url=endpoint.url, model="m", dimensions=3, key="k")

    with_key.embed(["a"])

    assert (embedder.is_paid, with_key.is_paid) == (False, True)
    assert endpoint.requests[0]["key"] == "Bearer k"


@pytest.mark.parametrize(
    ("model", "dimensions", "asked"),
    [("text-embedding-3-large", 1024, 1024), ("text-embedding-3-large", 3072, None), ("bge-m3", 512, None)],
)
def test_fewer_dimensions_are_asked_for_where_the_model_can_be_shortened(endpoint, model, dimensions, asked):
    embedder = OpenAICompatible(url=endpoint.url, model=model, dimensions=dimensions)
    endpoint.answers.append(Answer(lambda texts: [[1.0] * dimensions]))

    embedder.embed(["a"])

    assert endpoint.requests[0].get("dimensions") == asked
