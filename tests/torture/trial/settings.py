"""The settings of BigMind, one version later."""

from bigmind.settings import *  # noqa: F403
from bigmind.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.torture.trial"]
