"""Two kinds of memory that BigMind does not have: rumours of one's own, and signposts that everybody shares.

`plugin.py` adds their rows (`rows.py`), and no more, to sources of BigMind as they are imported. The other modules are
what a kind has in files of its own. `cases.py` has the tests, which run in a process of their own
(`test_trial_kinds.py`).
"""
