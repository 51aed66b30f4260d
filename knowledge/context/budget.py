"""The budget of a context: its tokens in all, and the share of each of its parts.

`lines.py` chooses the lines that fit.
"""

from typing import NamedTuple


class PartBudget(NamedTuple):
    """What a part of a context may use.

    Attributes:
        floor: The tokens it may use before any other part exceeds its own floor.
        ceiling: The tokens it may use while another part has further lines.
    """

    floor: int
    ceiling: int


TOTAL_TOKENS = 1_300
"""The most that a context costs, including what stands beside it."""

PART_BUDGETS = {
    # The profile.
    "role": PartBudget(floor=65, ceiling=65),
    "preferences": PartBudget(floor=110, ceiling=200),
    "pinned_facts": PartBudget(floor=65, ceiling=200),
    # Company knowledge.
    "company": PartBudget(floor=110, ceiling=300),
    "decisions": PartBudget(floor=80, ceiling=120),
    # Facts, by class.
    "identity": PartBudget(floor=65, ceiling=150),
    "constraint": PartBudget(floor=150, ceiling=350),
    "preference": PartBudget(floor=80, ceiling=200),
    "work": PartBudget(floor=110, ceiling=500),
    # What else is remembered.
    "hypotheses": PartBudget(floor=70, ceiling=110),
    "sessions": PartBudget(floor=100, ceiling=400),
}
"""Floor and ceiling of each part. Without floors, full profiles and company knowledge left nothing for facts; without
ceilings, one long list of a class would take the room of all others. Decision 21."""

COMPANY_TOKENS = 500
"""The most that company knowledge ever costs, with its headings."""
PROFILE_TOKENS = 300
"""What the profile usually costs: the page of the context compares with it."""
INDEX_TOKENS = 800
"""The same for facts, hypotheses and sessions."""

FRAME_TOKENS = 50
"""What a context costs without any line or heading."""
HEADING_TOKENS = 30
"""What a heading costs."""
ROUNDING_TOKENS = 4
"""Lines are counted one by one, and may cost a little more together."""
NOTICES_TOKENS = 150
"""The most that withdrawals cost in one reply."""

WHOLE_TOKENS = 80
"""A text of up to so many tokens is shown whole or not at all: half a fact misleads."""
CUT_TOKENS = 60
"""Tokens that are shown of a longer text, unless some are left over in the end."""
LEAST_TOKENS = 8
"""The least that a line costs: with less room none is tried."""
ITEM_TOKENS = 60
"""The most of a session's headline."""
COMPANY_ITEM_TOKENS = 100
"""About the most of the line of a company entry."""
HEADLINE_TOKENS = 15
"""The most of the headline of another agent's session, beside the context."""
HAND_OVER_TOKENS = 120
"""The most of what the session before left, beside the context."""
