"""The pages of company knowledge: where it is decided, read and proposed, and what people are told of it."""

from django.urls import path

from curation.views import (
    bulk,
    company,
    company_entry,
    deciding,
    deliveries,
    notices,
    preferences,
    proposals,
    queue,
)

urlpatterns = [
    path("curation/", queue.queue, name="curation"),
    path("curation/bulk/", bulk.deciding_about_many, name="curation-bulk"),
    path("curation/keys/", preferences.choose_keys, name="curation-keys"),
    path("curation/<int:entry_id>/", queue.entry, name="curation-entry"),
    path("curation/<int:entry_id>/decide/", deciding.deciding, name="curation-decide"),
    path("curation/<int:entry_id>/undo/", deciding.undoing, name="curation-undo"),
    path("curation/<int:entry_id>/comment/", deciding.commenting, name="curation-comment"),
    path("curation/<int:entry_id>/skip/", queue.skipping, name="curation-skip"),
    path("curation/<int:entry_id>/claim/", queue.claiming, name="curation-claim"),
    path("curation/<int:entry_id>/release/", queue.releasing, name="curation-release"),
    path("company/", company.company, name="company"),
    path("company/propose/", proposals.propose, name="company-propose"),
    path("company/mine/", proposals.mine, name="company-mine"),
    path("company/due/", company.due, name="company-due"),
    path("company/due/verify/", company.verifying, name="company-verify"),
    path("company/<int:pk>/", company_entry.entry, name="company-entry"),
    path("company/<int:pk>/revise/", proposals.revising, name="company-revise"),
    path("company/<int:pk>/withdraw/", proposals.withdrawing, name="company-withdraw"),
    path("company/<int:pk>/discuss/", company_entry.discussing, name="company-discuss"),
    path("company/<int:pk>/feedback/", company_entry.reporting, name="company-feedback"),
    path("company/<int:pk>/decide/", company_entry.deciding, name="company-decide"),
    path("company/<int:pk>/undo/", company_entry.undoing, name="company-undo"),
    path("company/<int:pk>/assign/", company_entry.assigning, name="company-assign"),
    path("notices/", notices.notices, name="notices"),
    path("notices/seen/", notices.seeing, name="notices-seen"),
    path("notices/settings/", notices.choosing, name="notices-settings"),
    path("system/deliveries/", deliveries.deliveries, name="deliveries"),
    path("system/deliveries/<uuid:delivery_id>/again/", deliveries.trying_again, name="deliveries-again"),
]
