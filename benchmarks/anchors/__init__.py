"""Anchors on real histories: what a change makes false, against a truth that is found another way."""
