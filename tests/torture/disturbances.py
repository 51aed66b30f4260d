"""What happens to web processes while clients call."""

import psutil

from tests.embedded.instance import Instance, eventually

WEB = ("web-1", "web-2")


def web_process(instance: Instance, name: str) -> psutil.Process:
    """Return one of the two web processes, once both are there."""
    eventually(lambda: set(WEB) <= set(instance.processes()))
    return instance.processes()[name]


def restart(instance: Instance) -> None:
    """Stop and start all of BigMind, which prints its key at the first start only."""
    printed = instance.printed
    instance.stop()
    instance.start()
    instance.printed = printed
