"""Tables of curation: decisions, claims, comments, golden questions, notices, subscriptions and deliveries."""

from .claims import CLAIM_LASTS, Claim
from .comments import FORMER_USER, Comment
from .golden_questions import GoldenQuestion
from .notifications import PAUSE, Channel, Delivery, Frequency, Notice, NoticeReason, Subscription
from .overlaps import Comparison, Overlap
from .reviews import Action, Review
from .scrubs import Scrub
from .webhooks import Webhook
