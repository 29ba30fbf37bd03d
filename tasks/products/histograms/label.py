"""The privacy label of a release of histograms, in plain words, made from its manifest alone."""

from hybriddp.zealous.events import PROBABILISTIC
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.products.histograms.parameters import Kind, ZealousParameters
from tasks.products.label import lifetime_promise, limits_of_the_promise, number_of
from tasks.products.label_people import epoch_promise, membership_limits
from tasks.products.parameters import Short
from tasks.verify.manifest import Manifest, Part, Size

_MEANINGS = {
    True: "**What the numbers mean** (probabilistic differential privacy). But for outcomes that "
    "have a chance of delta altogether, nothing that could have been published would have been "
    "more than e^epsilon times as likely, or less likely, if any one person had searched for "
    "something else. Among the excepted outcomes a search of few people may become visible.",
    False: "**What the numbers mean** (indistinguishability). Whatever one person had searched for "
    "instead, no publication would have become more than e^epsilon times as likely, but for a "
    "chance of delta. This is weaker than the probabilistic promise: it does not bound how often "
    "*some* person's search becomes visible, only how often a given one's does.",
}


class Thresholds(Part):
    """The noise of a histogram, and how many contributors an item needs to be shown."""

    noise_scale: Short
    first_threshold: Size
    threshold: Size
    margin_95: Size
    leak: Short


class HistogramManifest(Manifest):
    """What the manifest of histograms says."""

    parameters: ZealousParameters
    histograms: dict[Kind, Thresholds]
    blocked_items: Size

    @property
    def n_blocked(self) -> int:
        """How many items a blocklist left out."""
        return self.blocked_items


def write_label(manifest: HistogramManifest) -> str:
    """Return the label as Markdown; it says nothing of the files."""
    parameters, groups, shown = manifest.parameters, manifest.guarantees, manifest.histograms
    kinds = parameters.histograms
    people = groups[kinds[0]].people
    charge = Charge.sum(Charge.of_terms(groups[kind].terms) for kind in kinds)
    rows = "\n".join(
        f"| {kind} | {manifest.rows[kind]:,} | {shown[kind].threshold} | {shown[kind].margin_95} | "
        f"{number_of(groups[kind].epsilon_nano, EPSILON_UNITS)} | "
        f"{number_of(groups[kind].delta_atto, DELTA_UNITS)} |"
        for kind in kinds
    )
    m = parameters.items_per_user
    sections = [
        f"# Privacy label: {manifest.product}, {manifest.locale}, {manifest.epoch}",
        f"These histograms say which items of their searches many of {people:,} people share. Each "
        f"person contributes at most {m} different item{'s' if m > 1 else ''} to each histogram, "
        "noise was added to every count, and items of few contributors are left out.",
        what_counts_are(m),
        "| histogram | items | shown above | noise within (95 %) | epsilon | delta |\n"
        f"|---|---|---|---|---|---|\n{rows}",
        f"**In all** each of the {people:,} people pays epsilon "
        f"{number_of(charge.epsilon, EPSILON_UNITS)} and delta "
        f"{number_of(charge.delta, DELTA_UNITS)}: the histograms come from the same people, so "
        "their costs add up. The curator saw their searches. The promise compares "
        f"{groups[kinds[0]].neighbours}.",
        _MEANINGS[parameters.relaxation == PROBABILISTIC],
        _membership(parameters),
        *epoch_promise(parameters),
        lifetime_promise(manifest.cap),
        limits_of_the_promise("what a person searched for", "search"),
    ]
    return "\n\n".join(sections) + "\n"


def what_counts_are(items_per_user: int) -> str:
    """Say why a count is smaller than the number of people who have the item."""
    return (
        "**Contributors are not all who have an item.** Whoever has more than "
        f"{items_per_user} contributes {items_per_user} of them, picked at random, so many more "
        "people may have an item than contributed it. A count, less its noise, is a lower bound of "
        "them; how far above it they are was not measured, because it depends on how many items "
        "people have. Compare counts with counts."
    )


def _membership(parameters: ZealousParameters) -> str:
    is_everybody = parameters.optin == "everybody in the log"
    who = (
        "Everybody in the log, and all of them trusted the curator."
        if is_everybody
        else "People who opted in, and so trusted the curator."
    )
    return " ".join(["**Who took part.**", who, *membership_limits(parameters)])
