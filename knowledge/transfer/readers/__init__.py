"""Readers of what other programs exported, one small file each; `formats` lists them."""
