"""What is offered about app maps."""

from bigmind.core.operations import Effect, Operation
from knowledge.app_maps import (
    forgetting as app_forgetting,
)
from knowledge.app_maps import (
    healing as app_healing,
)
from knowledge.app_maps import (
    import_export as app_folders,
)
from knowledge.app_maps import (
    learning as app_learning,
)
from knowledge.app_maps import (
    reading as app_maps,
)
from knowledge.app_maps import (
    resolving as app_resolving,
)
from knowledge.app_maps import (
    runs as app_runs,
)
from knowledge.shapes.app_maps import (
    AppIndexShape,
    AppMapShape,
    BegunShape,
    DefaultPlaceShape,
    ExportedMapsShape,
    ForgottenInAppShape,
    ImportedMapsShape,
    LearntShape,
    MendedShape,
    ResolvedShape,
)

OPERATIONS = (
    Operation(
        name="app_resolve",
        title="Resolve a name to ids",
        call=app_resolving.resolve_name,
        shape=ResolvedShape,
        route="GET apps/resolve/",
        toolset="apps",
        template="app_resolved.md",
    ),
    Operation(
        name="app_list",
        title="List mapped apps",
        call=app_maps.list_apps,
        shape=AppIndexShape,
        route="GET apps/",
        toolset="apps",
        template="app_index.md",
    ),
    Operation(
        name="app_get",
        title="Read the map of an app",
        call=app_maps.get_app,
        shape=AppMapShape,
        route="GET apps/map/",
        toolset="apps",
        template="app_map.md",
    ),
    Operation(
        name="app_bootstrap",
        title="Import apps and tables",
        call=app_runs.bootstrap_apps,
        shape=BegunShape,
        route="POST apps/bootstrap/",
        toolset="apps",
        idempotent=True,
        template="app_begun.md",
    ),
    Operation(
        name="app_learn",
        title="Learn about an app",
        call=app_learning.learn_app,
        shape=LearntShape,
        route="POST apps/learn/",
        toolset="apps",
        idempotent=True,
        template="app_learnt.md",
    ),
    Operation(
        name="app_set_default",
        title="Remember which app is meant",
        call=app_forgetting.set_default_app,
        shape=DefaultPlaceShape,
        route="PUT apps/default/",
        toolset="apps",
        idempotent=True,
        template="app_default.md",
    ),
    Operation(
        name="app_report_failure",
        title="Report that a map was wrong",
        call=app_healing.report_failure,
        shape=MendedShape,
        route="POST apps/failures/",
        toolset="apps",
        template="app_mended.md",
    ),
    Operation(
        name="app_forget",
        title="Forget part of a map",
        call=app_forgetting.forget_in_app,
        shape=ForgottenInAppShape,
        route="DELETE apps/",
        toolset="apps",
        template="app_forgotten.md",
    ),
    Operation(
        name="app_rebuild",
        title="Rebuild a map",
        call=app_runs.rebuild_app,
        shape=BegunShape,
        route="POST apps/rebuild/",
        toolset="apps",
        other_effect=Effect.DESTROY,
        template="app_begun.md",
    ),
    Operation(
        name="app_export",
        title="Export all maps",
        call=app_folders.export_maps,
        shape=ExportedMapsShape,
        route="GET apps/export/",
        toolset="apps",
        template="app_files.md",
        is_slow=True,
    ),
    Operation(
        name="app_import",
        title="Import maps",
        call=app_folders.import_maps,
        shape=ImportedMapsShape,
        route="POST apps/import/",
        toolset="apps",
        idempotent=True,
        template="app_imported.md",
        is_slow=True,
    ),
)
