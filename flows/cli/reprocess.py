"""`hybriddp reprocess`: a release again with other settings, which every product has its own of."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flows.console.forms import filling_in
from flows.console.terminal import HomeOption, JsonOption, explained, say, say_json
from tasks.log.raw.files import BadInput
from tasks.release.reprocess import ReprocessRequest, find, settings_for

ReleaseArgument = Annotated[str, typer.Argument(help="A published release.")]


@explained
@filling_in(ReprocessRequest, release_id=ReleaseArgument, home=HomeOption, as_json=JsonOption)
def reprocess(
    changed: dict[str, Any], release_id: str, home: Path | None = None, as_json: bool = False
) -> None:
    """Do the post-processing again from the measurements: free, a revision only if it differs."""
    from flows.console.running import run_flow
    from flows.server.environment import configure
    from tasks.gates.blocklist import read_blocklist
    from tasks.release.summary import blocked_words
    from tasks.verify.reading import read_manifest

    if changed.setdefault("release_id", release_id) != release_id:
        raise BadInput("--config names another release_id than the command: take it out of one.")
    request = ReprocessRequest.model_validate(changed)
    place = configure(home, quiet=True)
    settings_for(find(request, place), request)  # what is refused anyway needs no Prefect
    read_blocklist(request.blocklist)
    folder, _ = run_flow("reprocess", request, place, is_quiet=as_json)
    if as_json:
        say_json({"folder": str(folder)})
    else:
        manifest = read_manifest((folder / "manifest.json").read_bytes())
        say(f"{blocked_words(manifest)}Published in {folder}")
