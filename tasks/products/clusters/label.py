"""The manifest of a release of clusters, and the privacy label that says it in plain words."""

from tasks.products.clusters import CLUSTERS, POINTS
from tasks.products.clusters.parameters import ClusterParameters
from tasks.products.label import lifetime_promise, limits_of_the_promise
from tasks.products.label_people import epoch_promise
from tasks.products.numbers.label import RULES, membership, what_people_pay
from tasks.publish.showing import in_markdown
from tasks.verify.manifest import Decimals, Manifest, Noise


class ClusterManifest(Manifest):
    """What the manifest of a release of clusters says."""

    parameters: ClusterParameters
    noise: Noise
    decimals: Decimals


def write_label(manifest: ClusterManifest) -> str:
    """Return the label as Markdown; it says nothing of the files."""
    parameters, groups, noise = manifest.parameters, manifest.guarantees, manifest.noise
    coordinates = "\n".join(
        f"- {in_markdown(point.column)}: {RULES[point.per_person]}, 0 if there is none, "
        f"between 0 and {float(point.upper):g}"
        for point in parameters.points
    )
    sections = [
        f"# Privacy label: {manifest.product}, {manifest.locale}, {manifest.epoch}",
        f"This release says which {parameters.n_clusters} clusters people's points form. A "
        f"person's point is made of these numbers; what is outside counts as the limit:\n\n"
        f"{coordinates}",
        "| people | who saw their point | epsilon | delta |\n|---|---|---|---|\n"
        + "\n".join(
            what_people_pay([groups[group] for group in together])
            for together in CLUSTERS.people_of(groups)
        ),
        "**What the numbers mean.** Whatever one person's point had been instead, no release would "
        "have become more than e^epsilon times as likely, but for a chance of delta. The promise "
        f"compares {groups[POINTS].neighbours}. It covers everything that was measured in all "
        f"{parameters.n_iterations} iterations, also for those who saw the centres move.",
        membership(parameters),
        *epoch_promise(parameters),
        lifetime_promise(manifest.cap, "numbers and searches"),
        limits_of_the_promise("a person's point", "have one"),
        "**Errors.** Shares and centres are about the people who were nearest to a centre before "
        "it moved for the last time. Their standard errors are those of the last iteration's "
        "noise alone: that earlier noise, or the first centres, led to other clusters, is not in "
        f"them. The curator's noise has a scale of {noise['sums_scale']} people, that of a "
        f"client's number {noise['report_scale']} times its range, and a client names its own "
        f"cluster with probability {noise['truth']}. A centre without a standard error was never "
        "moved by anybody in the last iteration.",
    ]
    return "\n\n".join(sections) + "\n"
