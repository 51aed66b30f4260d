"""Tables of curation: decisions, claims, comments, golden questions, packs, notices, subscriptions and deliveries."""

from .golden_questions import GoldenQuestion
from .notifications import LETTER, PAUSE, Channel, Delivery, Frequency, Notice, NoticeReason, Subscription
from .overlaps import Comparison, Overlap
from .packs import Pack, PackKey, PackLine, PackVersion
from .reviews import CLAIM_LASTS, Action, Claim, Comment, Review
from .scrubs import Scrub
from .webhooks import Webhook
