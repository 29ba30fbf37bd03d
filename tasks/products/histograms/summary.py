"""What a terminal shows of histograms."""

from hybriddp.zealous.item_kinds import ITEM_COLUMNS
from tasks.ledger.charges import Charge
from tasks.products.histograms.estimation.tables import count_column
from tasks.release.summary import Grid, Published, Summary, blocked_words

_SHOWN = 5


def summary(published: Published) -> Summary:
    """Show the first rows of every histogram, and what was promised."""
    manifest = published.manifest
    parameters, groups = manifest.parameters, manifest.guarantees
    column, kinds = count_column(manifest.schema_version), parameters.histograms
    for kind in kinds:
        shown = manifest.histograms[kind]
        yield (
            f"{manifest.rows[kind]:,} {kind} of more than {shown.threshold} contributors "
            f"(noise within {shown.margin_95} in 95 % of cases)"
        )
        names = ITEM_COLUMNS[kind]
        rows = [
            (str(row["rank"]), *(row[name] for name in names), f"{row[column]:,}")
            for row in published.rows[kind][:_SHOWN]
        ]
        if rows:
            yield Grid(("rank", *names, "contributors"), rows)
    charge = Charge.sum(Charge.of_terms(groups[kind].terms) for kind in kinds)
    yield (
        f"\nEach person contributes at most {parameters.items_per_user} of their items to a "
        "histogram, so more people have an item than contributed it; how many more was not "
        "measured.\n"
        f"{charge} in all, {parameters.relaxation}, for each of "
        f"{groups[kinds[0]].people:,} people.\n{blocked_words(manifest)}"
    )
