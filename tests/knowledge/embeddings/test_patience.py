"""Workers try again, people are not kept waiting, and a failing embedder is left alone (T7)."""

from time import monotonic

import pytest

from knowledge.embeddings import calls as circuits
from knowledge.embeddings.calls import Circuit, CircuitOpen, embed_batch, embed_query
from knowledge.embeddings.providers import EmbedderBroken, EmbedderDown, TextsRefused
from tests.knowledge.embeddings.endpoint import Answer


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def circuit(embedder):
    return Circuit(embedder.space)


def fail_batches(embedder, endpoint, count):
    """Let as many batches fail, and the endpoint be well afterwards."""
    for _ in range(count):
        endpoint.answers.extend([Answer(status=500)] * 4)
        with pytest.raises(EmbedderDown):
            embed_batch(embedder, ["a"], sleep=lambda seconds: None)


def test_a_batch_is_tried_again_after_one_two_and_four_seconds(endpoint, embedder, pauses):
    endpoint.answers.extend([Answer(status=500), Answer(status=429), Answer(status=503)])

    vectors = embed_batch(embedder, ["a"], sleep=pauses.append).vectors

    assert vectors.shape == (1, 3)
    assert pauses == [1, 2, 4]


def test_after_the_fourth_try_the_batch_is_left_for_later(endpoint, embedder, pauses):
    endpoint.answers.extend([Answer(status=500)] * 9)

    with pytest.raises(EmbedderDown):
        embed_batch(embedder, ["a"], sleep=pauses.append)

    assert len(endpoint.requests) == 4


def test_a_worker_waits_as_long_as_it_is_asked_to(endpoint, embedder, pauses):
    endpoint.answers.append(Answer(status=429, headers={"Retry-After": "8"}))

    embed_batch(embedder, ["a"], sleep=pauses.append)

    assert pauses == [8]


def test_a_worker_does_not_sleep_for_minutes_and_nobody_asks_meanwhile(endpoint, embedder, pauses, circuit):
    endpoint.answers.append(Answer(status=429, headers={"Retry-After": "120"}))

    with pytest.raises(EmbedderDown):
        embed_batch(embedder, ["a"], sleep=pauses.append)

    assert pauses == []
    assert circuit.is_open()


@pytest.mark.parametrize("answer", [Answer(status=401), Answer(lambda texts: [[1.0]]), Answer(lambda texts: [])])
def test_an_embedder_that_needs_a_person_is_not_pestered(endpoint, embedder, pauses, answer):
    endpoint.answers.append(answer)

    with pytest.raises(EmbedderBroken):
        embed_batch(embedder, ["a"], sleep=pauses.append)

    assert (len(endpoint.requests), pauses) == (1, [])


def test_the_third_failed_batch_opens_the_circuit(endpoint, embedder, circuit):
    fail_batches(embedder, endpoint, 2)
    assert not circuit.is_open()

    fail_batches(embedder, endpoint, 1)

    assert circuit.is_open()
    with pytest.raises(CircuitOpen):
        embed_batch(embedder, ["a"])
    assert len(endpoint.requests) == 12


def test_a_success_between_them_begins_the_count_anew(endpoint, embedder, circuit):
    fail_batches(embedder, endpoint, 2)

    embed_batch(embedder, ["a"])
    fail_batches(embedder, endpoint, 2)

    assert not circuit.is_open()


def test_texts_that_are_refused_are_no_failure_of_the_embedder(endpoint, embedder, circuit):
    endpoint.answers.extend([Answer(status=400)] * 3)

    for _ in range(3):
        with pytest.raises(TextsRefused):
            embed_batch(embedder, ["a"])

    assert not circuit.is_open()


def test_the_circuit_of_one_model_is_not_that_of_another(endpoint, embedder):
    fail_batches(embedder, endpoint, 3)

    assert not Circuit("another:3").is_open()


def test_when_it_is_well_again_everything_goes_on_without_a_restart(endpoint, embedder, circuit, monkeypatch):
    monkeypatch.setattr(circuits, "SHORTEST", 0.05)
    fail_batches(embedder, endpoint, 3)
    until_half_open(circuit)

    embed_query(embedder, "a")

    assert all(circuit.admits() for _ in range(3))


def test_half_open_only_one_probes(endpoint, embedder, circuit, monkeypatch):
    monkeypatch.setattr(circuits, "SHORTEST", 0.05)
    fail_batches(embedder, endpoint, 3)
    until_half_open(circuit)

    assert [circuit.admits() for _ in range(3)] == [True, False, False]


def test_each_failed_probe_doubles_the_time_up_to_ten_minutes(circuit, monkeypatch):
    times = opening_times(circuit, monkeypatch, failures=7)

    assert times == [15, 30, 60, 120, 240, 480, 600]


def test_a_question_is_asked_once(endpoint, embedder):
    endpoint.answers.append(Answer(status=500))

    with pytest.raises(EmbedderDown):
        embed_query(embedder, "When do we release?")

    assert len(endpoint.requests) == 1


def test_a_silent_endpoint_costs_a_question_two_seconds_at_most(endpoint, embedder):
    endpoint.answers.append(Answer(is_silent=True))
    begun = monotonic()

    with pytest.raises(EmbedderDown):
        embed_query(embedder, "When do we release?")

    assert monotonic() - begun < 2


def test_a_question_does_not_wait_for_an_open_circuit(endpoint, embedder):
    endpoint.answers.extend([Answer(status=500)] * 3)
    for _ in range(3):
        with pytest.raises(EmbedderDown):
            embed_query(embedder, "When do we release?")

    with pytest.raises(CircuitOpen):
        embed_query(embedder, "When do we release?")

    assert len(endpoint.requests) == 3


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_has_one_to_a_hundred_texts(endpoint, embedder, count):
    with pytest.raises(ValueError, match="1 to 100"):
        embed_batch(embedder, ["a"] * count)

    assert endpoint.requests == []


def until_half_open(circuit):
    """Wait for the circuit's time to pass."""
    end = monotonic() + 5
    while circuit.is_open() and monotonic() < end:
        pass


def opening_times(circuit, monkeypatch, failures):
    """Let failures follow each other, each as soon as the circuit lets it; return how long it was open each time."""
    times = []
    really_set = circuits.cache.set
    monkeypatch.setattr(
        circuits.cache, "set", lambda key, value, timeout: (times.append(timeout), really_set(key, value, 0))
    )
    for _ in range(circuits.FAILURES - 1):
        circuit.note_failure()
    for _ in range(failures):
        circuit.note_failure()
    return times
