"""`python -m bigmind`: the command where its script is not on the path, as for clients that start it by themselves."""

from bigmind.cli import main

main()
