"""The patterns by which texts are split into words."""

import re

WORD = re.compile(r"[^\W_]+")
"""Letters and digits; `_` ends a word."""
IDENTIFIER = re.compile(r"\w+")
"""Letters, digits and `_`."""
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a name in camel case goes from one word to the next."""
