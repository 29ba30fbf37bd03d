"""What a terminal shows of means."""

from tasks.release.summary import Grid, Published, Summary, promise

_SHOWN = 20


def summary(published: Published) -> Summary:
    """Show the means, and what was promised."""
    manifest = published.manifest
    parameters, decimals = manifest.parameters, manifest.decimals
    yield f"Mean of {parameters.column}, {parameters.per_person} of each person"
    rows = []
    for row in published.rows["means"][:_SHOWN]:
        low, mean, high = (f"{row[name]:,.{decimals}f}" for name in ("ci_low", "mean", "ci_high"))
        people = (f"{row[name]:,}" for name in ("optin_people", "clients"))
        rows.append((row["key"], *people, mean, f"{low} - {high}"))
    yield Grid((parameters.by or "", "opt-in", "clients", "mean", "95 % interval"), rows)
    if manifest.rows["means"] > _SHOWN:
        yield f"... and {manifest.rows['means'] - _SHOWN} more"
    yield f"\n{promise(manifest)}."
    for row in manifest.second_guarantee or ():
        yield (
            f"Against those who see only this release, and {float(row['coalition']):.0%} of the "
            f"clients: epsilon {row['epsilon_optin']} for opt-in people, {row['epsilon_clients']} "
            f"for other clients, at delta {row['delta']}."
        )
