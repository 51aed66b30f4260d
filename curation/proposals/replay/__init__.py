"""Replay: answers past questions again, in two worlds of company knowledge, and compares.

Asking ten thousand questions twice would take minutes. What a decision changes is a few passages, so all questions are
compared with all passages in one product of matrices first, by the formula that the search uses. If an added or removed
passage comes near the end of an answer, or its words change the weights of others, the answer is made in both worlds as
the search makes it: same weights, late interaction, order, floor and turns.

Only company knowledge is ranked again. What else a question finds is in its outline, by its scores. Decision 57.
"""
