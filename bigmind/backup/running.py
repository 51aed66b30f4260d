"""The database for the length of a backup or a restore: the one that runs, or the embedded one, started for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.embedded.database import hang_up
from bigmind.embedded.home import lock_home, prepare_home, running_on
from bigmind.embedded.postgres import Cluster
from bigmind.embedded.refusal import CannotStart
from bigmind.environment import environment


@contextmanager
def running_database(*, alone: bool = False) -> Iterator[None]:
    """Let the database of this instance run meanwhile.

    Args:
        alone: Refuse while BigMind runs: what it does between would be lost. Then a home without data gets a database.

    Raises:
        Conflict: it runs, and should not.
        NotFound: there is no data in the home.
        Invalid: the embedded database cannot be started.
    """
    own = environment()
    if not own.is_embedded:
        yield
        return
    if running := running_on(own.home):
        if alone:
            raise Conflict(f"BigMind is running ({running.url}).", hint="Stop it first (Ctrl-C), then try again.")
        yield
        return
    if not alone and not Cluster(own.home).folder.exists():
        raise NotFound(f"There is no BigMind in {own.home} yet.", hint="BIGMIND_HOME says where it is.")
    try:
        prepare_home(own.home)
        with lock_home(own.home, own.url):
            cluster = Cluster(own.home)
            cluster.start()
            try:
                yield
            finally:
                hang_up()
                cluster.stop()
    except CannotStart as refusal:
        raise Invalid(str(refusal)) from refusal
