"""The manifest of a release of means, and the privacy label that says it in plain words."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from tasks.products.label import coalition_words, lifetime_promise, limits_of_the_promise
from tasks.products.label_people import epoch_promise
from tasks.products.mean import MEANS, SUMS
from tasks.products.mean.parameters import MeanParameters
from tasks.products.numbers.label import RULES, membership, what_people_pay
from tasks.publish.showing import in_markdown
from tasks.verify.form import fitting, keyed, listed, maybe, name, short
from tasks.verify.manifest import Decimals, Manifest, Noise, Part, Size


class Agreement(Part):
    """How far the groups are apart, if both were asked."""

    compared: Size
    p_value: Annotated[str | None, fitting(maybe(short))]


_SECOND = maybe(listed(keyed(name, short, 10), 10))


class MeanManifest(Manifest):
    """What the manifest of a release of means says."""

    parameters: MeanParameters
    second_guarantee: Annotated[list[dict[str, str]] | None, fitting(_SECOND)]
    noise: Noise
    cross_check: Agreement
    decimals: Decimals


def write_label(manifest: MeanManifest) -> str:
    """Return the label as Markdown; it says nothing of the files."""
    parameters, groups = manifest.parameters, manifest.guarantees
    by = f", for each {in_markdown(parameters.by)}" if parameters.by else ""
    sections = [
        f"# Privacy label: {manifest.product}, {manifest.locale}, {manifest.epoch}",
        f"This release says what the mean of {in_markdown(parameters.column)} is{by}. A "
        f"person's number is {RULES[parameters.per_person]}, 0 if there is none, and counts as "
        f"a number between 0 and {float(parameters.upper):g}, whatever it is. Noise hides "
        "everybody's.",
        "| people | who saw their number | epsilon | delta |\n|---|---|---|---|\n"
        + "\n".join(
            what_people_pay([groups[group] for group in together])
            for together in MEANS.people_of(groups)
        ),
        "**What the numbers mean** (the first guarantee). Whatever one person's number had been "
        "instead, no release would have become more than e^epsilon times as likely, but for a "
        f"chance of delta. The promise compares {groups[SUMS].neighbours}. It holds against "
        "everybody, whatever else they know.",
        *_second(manifest.second_guarantee),
        membership(parameters),
        *epoch_promise(parameters),
        lifetime_promise(manifest.cap, "numbers and searches"),
        limits_of_the_promise("a person's number", "have one"),
        _intervals(manifest),
    ]
    return "\n\n".join(sections) + "\n"


def _second(stated: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """State the second guarantee, if there is one."""
    if stated is None:
        return []
    rows = "\n".join(
        f"| {coalition_words(row['coalition'])} | {row['epsilon_optin']} | "
        f"{row['epsilon_clients']} | {row['delta']} |"
        for row in stated
    )
    return [
        "**Against those who see only the release** (the second guarantee, beside the first, which "
        "it does not replace). The release is made of one noisy number for each key and nothing "
        "else of both groups, so its noise is that of everybody together. Whoever sees nothing but "
        "the release learns less. It does not hold against the curator, nor against anybody who "
        "sees a group's own sum or a report; it rests on the hash that hides the measurements.",
        "| clients who share what they know | epsilon, opt-in people | epsilon, other clients | "
        f"delta |\n|---|---|---|---|\n{rows}",
    ]


def _intervals(manifest: MeanManifest) -> str:
    check, noise = manifest.cross_check, manifest.noise
    text = (
        "**Intervals** cover the mean of these very people's numbers, after clamping, 19 times in "
        "20, one at a time, if opt-in people and clients are alike. The curator's noise on a sum "
        f"has a standard deviation of {noise['sums_sd']}, the noise of a report one of at most "
        f"{noise['report_sd_at_most']}."
    )
    if check.p_value is None:
        return text + " Whether the groups are alike was not compared."
    return text + (
        f" That the groups differ as much as they do has p <= {check.p_value} over "
        f"{check.compared} key{'s' if check.compared > 1 else ''}."
    )
