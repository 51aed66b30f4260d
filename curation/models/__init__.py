"""Tables of curation: decisions, claims, comments, golden questions, notices, subscriptions and deliveries."""

from .claims import CLAIM_LASTS, Claim
from .comments import Comment
from .deliveries import Channel, Delivery
from .golden_questions import GoldenQuestion
from .notices import Notice
from .reviews import Action, Review
from .subscriptions import PAUSE, Frequency, Subscription

__all__ = [
    "CLAIM_LASTS",
    "PAUSE",
    "Action",
    "Channel",
    "Claim",
    "Comment",
    "Delivery",
    "Frequency",
    "GoldenQuestion",
    "Notice",
    "Review",
    "Subscription",
]
