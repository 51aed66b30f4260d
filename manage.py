#!/usr/bin/env python
"""Run a BigMind command from a checkout: `python manage.py <command>` is `bigmind <command>`."""

import os
import sys

from bigmind.cli import main

if __name__ == "__main__":
    # The settings of the tests have a command of their own, `docs`, which is looked up before Django reads the option.
    for option in sys.argv:
        if option.startswith("--settings="):
            os.environ["DJANGO_SETTINGS_MODULE"] = option.partition("=")[2]
    main()
