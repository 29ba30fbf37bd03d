"""What a terminal shows of a head list."""

from tasks.ledger.charges import Charge
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM
from tasks.release.summary import Grid, Published, Summary, blocked_words

_SHOWN = 5


def summary(published: Published) -> Summary:
    """Show the first records, and what was promised."""
    manifest, groups = published.manifest, published.manifest.guarantees
    rows = [
        (
            str(row["rank"]),
            row["query"],
            row["url"],
            f"{row['probability']:.6f}",
            f"{row['ci_low']:.6f} - {row['ci_high']:.6f}",
        )
        for row in published.rows["head_list"][:_SHOWN]
    ]
    if rows:
        yield Grid(("rank", "query", "url", "probability", "95 % interval"), rows)
    else:
        yield "No record was popular enough: more opt-in people or a larger epsilon help."
    optin = [f"{groups[name].people:,}" for name in (HEADLIST, HISTOGRAM) if name in groups]
    paid = f"{Charge.of_terms(groups[HEADLIST].terms)} at most"
    if manifest.season is not None:
        stated = manifest.parameters
        season = f"a whole season, of which this is week {stated.week} of {stated.season_weeks},"
        paid = f"{Charge.of(stated.params.budget)} at most for {season}"
    yield (
        f"\n{manifest.rows['head_list']} records of {manifest.rows['trends']} queries; "
        f"everything else has probability {manifest.masses.other_records:.4f}.\n"
        f"{paid} for each of {' + '.join(optin)} opt-in people and "
        f"{groups[CLIENTS].people:,} clients.\n{blocked_words(manifest)}"
    )
