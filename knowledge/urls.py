"""The pages about what is remembered."""

from django.urls import path

from knowledge.views import asides, context, exports, facts, home, hypotheses, memory, notes, sessions

urlpatterns = [
    path("", home.home, name="home"),
    path("memory/", memory.memory, name="memory"),
    path("memory/facts/", facts.facts, name="memory-facts"),
    path("memory/facts/new/", facts.new_fact, name="memory-fact-new"),
    path("memory/facts/<int:fact_id>/", facts.fact, name="memory-fact"),
    path("memory/sessions/", sessions.sessions, name="memory-sessions"),
    path("memory/sessions/<uuid:session_id>/", sessions.session, name="memory-session"),
    path("memory/sessions/<uuid:session_id>/correct/", sessions.session_correction, name="memory-session-correct"),
    path("memory/sessions/<uuid:session_id>/end/", sessions.session_end, name="memory-session-end"),
    path("memory/chunks/<int:chunk_id>/", sessions.chunk, name="memory-chunk"),
    path("memory/notes/", notes.notes, name="memory-notes"),
    path("memory/notes/new/", notes.new_note, name="memory-note-new"),
    path("memory/notes/<int:note_id>/", notes.note, name="memory-note"),
    path("memory/notes/<int:note_id>/edit/", notes.note_correction, name="memory-note-edit"),
    path("memory/hypotheses/", hypotheses.hypotheses, name="memory-hypotheses"),
    path("memory/hypotheses/new/", hypotheses.new_hypothesis, name="memory-hypothesis-new"),
    path("memory/hypotheses/<int:hypothesis_id>/", hypotheses.hypothesis, name="memory-hypothesis"),
    path(
        "memory/hypotheses/<int:hypothesis_id>/resolve/",
        hypotheses.hypothesis_verdict,
        name="memory-hypothesis-resolve",
    ),
    path("memory/profile/", context.profile, name="memory-profile"),
    path("memory/context/", context.context, name="memory-context"),
    path("memory/aside/", asides.asides, name="memory-aside"),
    path("memory/<str:kind>/<str:thing_id>/set-aside/", asides.setting_aside, name="memory-set-aside"),
    path("memory/<str:kind>/<str:thing_id>/restore/", asides.restoring, name="memory-restore"),
    path("memory/<str:kind>/<str:thing_id>/erase/", asides.erasing, name="memory-erase"),
    path("memory/export/", exports.export, name="memory-export"),
    path("memory/import/", exports.importing, name="memory-import"),
    path("memory/import/confirm/", exports.import_confirmed, name="memory-import-confirm"),
]
