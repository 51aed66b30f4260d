"""Tables of curation: decisions, claims, comments, golden questions, notices, subscriptions and deliveries."""

from .golden_questions import GoldenQuestion
from .notifications import PAUSE, Channel, Delivery, Frequency, Notice, Subscription
from .overlaps import Overlap
from .reviews import CLAIM_LASTS, Action, Claim, Comment, Review
