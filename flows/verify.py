"""Check what is published, on a schedule: signatures, hashes, expiry, and the list itself."""

from pydantic import Field

from tasks.orchestration.reasons import form_flow
from tasks.orchestration.tasks import check_publication, published_folders
from tasks.products.request import Form


class VerifyRequest(Form):
    """What to check."""

    release_id: str | None = Field(None, description="One release; by default every newest one.")


@form_flow
def verify(request: VerifyRequest) -> list[str]:
    """Verify published releases as an auditor does, measurements included."""
    folders = published_folders(request.release_id)
    for folder in folders:
        check_publication(folder)
    return [folder.name for folder in folders]
