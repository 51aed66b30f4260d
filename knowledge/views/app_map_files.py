"""Taking the app maps along: download them as a zip, and bring one in, after a rehearsal."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_safe

from accounts.authentication import actor_of
from bigmind.core.errors import Invalid
from bigmind.web.forms import OperationForm, choice
from bigmind.web.pages import own_page, tell
from knowledge.app_maps.files.archives import pack, unpack
from knowledge.app_maps.files.folders import parse_maps
from knowledge.app_maps.folders import export_maps, import_folder

UPLOAD_BYTES = 4 * 1024 * 1024


class AppMapUploadForm(OperationForm):
    """Asks for a zip, or for one YAML file."""

    document = forms.FileField(
        label="Zip or YAML file",
        help_text="A zip of _index.yaml and its files, or the YAML file of one app, up to 4 MiB.",
        widget=forms.FileInput(attrs={"accept": ".zip,.yaml,.yml"}),
    )
    deed = choice([("rehearse", "Only say what it would do"), ("import", "Import it")], label="What to do")

    def clean_document(self) -> Any:
        """Read the file."""
        file = self.cleaned_data["document"]
        try:
            if file.size > UPLOAD_BYTES:
                raise Invalid(f"The file has {file.size:,} bytes; the limit is {UPLOAD_BYTES:,}.")
            raw = file.read()
            return parse_maps(unpack(raw) if raw.startswith(b"PK") else {file.name: raw})
        except Invalid as refusal:
            raise forms.ValidationError(refusal.message) from refusal


@own_page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download all app maps as a zip of YAML files."""
    layout: Any = "folder" if request.GET.get("layout") == "folder" else "file"
    response = HttpResponse(pack(export_maps(actor_of(request), layout=layout).files), content_type="application/zip")
    name = content_disposition_header(as_attachment=True, filename="app-maps.zip")
    response["Content-Disposition"] = name or "attachment"
    return response


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def importing(request: HttpRequest) -> HttpResponse:
    """Ask for a zip; say what importing it would do, or do it."""
    form = AppMapUploadForm(request.POST, request.FILES) if request.method == "POST" else AppMapUploadForm()
    is_rehearsal = request.POST.get("deed") != "import"
    report = form.attempt(lambda data: import_folder(data["document"], dry_run=is_rehearsal))
    if report and not is_rehearsal:
        tell(request, f"Imported: {report.added} new, {report.updated} changed, {report.unchanged} known already.")
        return redirect("apps")
    return render(request, "knowledge/app_map_import.html", {"form": form, "report": report})
