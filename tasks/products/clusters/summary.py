"""What a terminal shows of clusters."""

from tasks.release.summary import Grid, Published, Summary, promise

_SHOWN = 20


def summary(published: Published) -> Summary:
    """Show the clusters, and what was promised."""
    manifest = published.manifest
    decimals = manifest.decimals
    names = manifest.parameters.columns
    centres: dict[int, list[str]] = {}
    for row in published.rows["centres"]:
        error = row["standard_error"]
        margin = "" if error is None else f" ± {error:,.{decimals}f}"
        centres.setdefault(row["cluster"], []).append(f"{row['centre']:,.{decimals}f}{margin}")
    rows = []
    for row in published.rows["clusters"][:_SHOWN]:
        share = f"{row['share']:.1%} ± {row['standard_error']:.1%}"
        rows.append((str(row["cluster"]), share, *centres[row["cluster"]]))
    yield Grid(("cluster", "share", *names), rows)
    if manifest.rows["clusters"] > _SHOWN:
        yield f"... and {manifest.rows['clusters'] - _SHOWN} more"
    yield f"\n{promise(manifest)}.\n± is one standard error of the last iteration's noise."
