"""How well things are found: a corpus of our own in the layout of BEIR, and the recipes compared on it."""
