#!/usr/bin/env python
"""Run a BigMind command from a checkout: `python manage.py <command>` is `bigmind <command>`."""

from bigmind.cli import main

if __name__ == "__main__":
    main()
