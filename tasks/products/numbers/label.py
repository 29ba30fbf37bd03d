"""What the labels of releases about people's numbers say alike."""

from collections.abc import Sequence

from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.products.label import number_of
from tasks.products.label_people import membership_limits
from tasks.products.numbers.parameters import NumbersParameters
from tasks.publish.showing import in_markdown
from tasks.verify.manifest import Guarantee

RULES = {
    "sum": "the sum of their rows (each at most 1,024 times the limit)",
    "mean": "the mean of their rows (each at most 1,024 times the limit)",
    "max": "the largest of their rows",
    "count": "how many of their rows have one",
}


def what_people_pay(paid: Sequence[Guarantee]) -> str:
    """Say what the people pay who are in all of these groups."""
    charge = Charge.sum(Charge.of_terms(promised.terms) for promised in paid)
    roles = ", and ".join(promised.role for promised in paid)
    return (
        f"| {paid[0].people:,} people, who {roles} | {paid[0].trusts} | "
        f"{number_of(charge.epsilon, EPSILON_UNITS)} | {number_of(charge.delta, DELTA_UNITS)} |"
    )


def membership(parameters: NumbersParameters) -> str:
    """Say who takes part, and what of that is not hidden."""
    sentences = membership_limits(parameters)
    if parameters.key_column:
        sentences.append(
            f"Who belongs to which {in_markdown(parameters.key_column)} counts as public; how many "
            "do is published."
        )
    sentences.append(
        "The clients were simulated: their numbers were in the curator's log, and they trusted the "
        "curator to run the program that their devices would have run."
    )
    return "**Who took part.** " + " ".join(sentences)
