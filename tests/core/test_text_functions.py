"""Every function that is given a text is tried with texts that are slow to read, or it is said here why not."""

from tests.core.text_functions import code_reached, every_text_function
from tests.pathological import bank

# Enough to reach each function; the whole bank is for the long tests.
TEXTS = {
    *("letters in an item", "html, then a letter", "links, then a letter", "backticks, then a letter", "headings"),
    *("lines of errors", "labels in an item", "labels of lists"),
}
EXCUSED = {
    "is given what these functions have cut, read or made": (
        *("bigmind.network.addresses.post", "bigmind.transports.mcp.tools.error_of", "bigmind.web.pages.tell"),
        *("bigmind.transports.hooks.dialects.with_settings", "bigmind.transports.rest.etags.etag_of"),
        *("accounts.services.alerts.tell", "curation.notifications.webhook_requests.signature"),
        *("bigmind.web.components.with_code", "bigmind.help.contents.path_of"),
        *("knowledge.truth.statement_words.groups_in", "knowledge.templatetags.agent.inline"),
        *("knowledge.templatetags.agent.fence", "bigmind.core.translation.gettext_lazy"),
        *("bigmind.core.translation.format_lazy", "bigmind.transports.request_limits.replay_body"),
        *(
            "bigmind.database.normal_form.sql_without_accents",
            "knowledge.references.readers.program_names.require_name",
        ),
        *("curation.proposals.replay.questions.make_finding", "curation.notifications.notices.tell_proposer"),
    ),
    "hashes or compares it": (
        *("bigmind.text.key_text.checksum", "accounts.keys.digest_of", "accounts.keys.create_key"),
        *("accounts.authentication.authenticate_token", "accounts.oauth.app_tokens.find_token"),
        *("accounts.oauth.consent.unseal", "accounts.services.erasure_reports.digest_with_key"),
        *("accounts.sign_in.attempts.count_guess", "accounts.sign_in.attempts.count_wrong"),
        *("curation.views.entry_story.same_text", "bigmind.core.encryption.encrypt"),
    ),
    "hands it to the database and to functions that are tried": (
        *("accounts.services.settings_in_force.list_settings", "bigmind.core.word_filters.has_words"),
        "knowledge.kb.import_consent.require_consent",
        *("bigmind.privacy.scrub.scrubbing.preview_scrub", "bigmind.privacy.scrub.scrubbing.scrub_text"),
        *("knowledge.capture.recall.recall_for", "knowledge.lessons.seen_errors.fingerprints_in"),
        *("knowledge.references.lookup.find_by_name", "knowledge.references.lookup.commands_in"),
        *("knowledge.references.lookup.is_command_line", "knowledge.references.lookup.nearest_references"),
        *("knowledge.exposures.sent_lines.keep_texts", "knowledge.truth.fact_succession.replace_facts"),
        *("knowledge.context.sessions.keep_as_told", "knowledge.exposures.context_receipts.keep_recalled"),
        *("knowledge.conversation.chunks.add_chunk", "knowledge.kb.entry_sources.entries_from"),
        *("knowledge.transfer.foreign_imports.move_in", "knowledge.transfer.foreign_imports.importer_of"),
        *("curation.services.foreign_imports.import_own_document", "knowledge.references.imports.import_generated"),
        *(
            "knowledge.references.readers.registry.read_uploaded",
            "knowledge.references.readers.registry.require_drafts",
        ),
        *("curation.services.foreign_imports.import_reading", "knowledge.app_maps.import_export.read_uploaded_maps"),
        *("knowledge.transfer.readers.uploads.read_upload", "knowledge.references.imports.take_back_import"),
    ),
    "runs on the machine of whoever gives the command, with what is theirs": (
        *("accounts.connecting.hook_program.post", "accounts.connecting.hook_program.write_private"),
        "accounts.connecting.hook_program.with_line",
        "accounts.connecting.act_program.sign",
        *("accounts.connecting.hooks.parse_kinds", "accounts.connecting.json_text.read_setting"),
        *("accounts.connecting.json_text.with_setting", "accounts.connecting.json_text.without_setting"),
        *("accounts.connecting.json_text.read_items", "accounts.connecting.json_text.with_item"),
        *("accounts.connecting.json_text.without_items", "accounts.connecting.json_tree.read_tree"),
        *("accounts.connecting.malformed.line_of", "accounts.connecting.edited_files.mask_keys"),
        *("accounts.connecting.instruction_files.with_rules", "accounts.connecting.instruction_files.without_rules"),
        *("accounts.connecting.toml_text.read_setting", "accounts.connecting.toml_text.with_setting"),
        *("accounts.connecting.toml_text.without_setting", "knowledge.parsers.reading.replace_text"),
        *(
            "knowledge.references.readers.help.command_tree.generate",
            "knowledge.references.readers.python.commands.generate_click",
        ),
        "knowledge.references.readers.python.commands.generate_argparse",
        "knowledge.references.readers.python.commands.generate_from_click",
        "knowledge.references.readers.python.commands.generate_from_argparse",
        "knowledge.references.readers.python.django_projects.generate",
    ),
}


def test_every_function_that_is_given_a_text_is_tried_or_excused():
    functions = every_text_function()
    reached = code_reached(text for name, text in bank(100) if name in TEXTS)
    excused = {name for names in EXCUSED.values() for name in names}

    missed = {name for name, code in functions.items() if code not in reached} - excused

    assert len(functions) > 150
    assert not missed, "Add it to ENTRANCES in tests/pathological.py."
    assert excused <= functions.keys(), "It is no longer there."
