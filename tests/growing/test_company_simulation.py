"""The simulation of a company: from what was published, and it waits as queues do."""

from benchmarks import company


def test_its_pieces_are_those_that_were_published() -> None:
    pieces = company.read_pieces()
    published = (company.DOCS / "growing.md").read_text()

    sizes = sorted(pieces.searches)
    assert all(f"{size:,} passages | {pieces.searches[size][0]:.0f} / " in published for size in sizes)
    assert pieces.calls.keys() >= company.CALLS.keys()
    assert pieces.search_in_database(company.PASSAGES) > pieces.search_in_database(sizes[-1])


def test_a_search_costs_at_a_measured_size_what_was_measured() -> None:
    pieces = company.read_pieces()
    largest = max(pieces.searches)

    own, theirs = company._times(pieces, "semantic_search", largest)

    assert round(own + theirs, 6) == pieces.searches[largest][0]


def test_calls_wait_for_a_machine_that_is_too_small_and_for_one_of_a_hundred_cores_hardly_ever() -> None:
    times = {"search": (10.0, 90.0)}
    asked = ["search"] * 2_000

    small, large = (company.simulate(asked, 100, times, 0.1, web=2, database=cores)["search"] for cores in (1, 100))

    assert small.p(50) > 10 * large.p(50)
    assert large.p(95) < 200
    assert company._machines(asked, 100, times, 0.1)[1] >= 2
