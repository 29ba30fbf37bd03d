"""Studies of our own: the attacks, and BLENDER against ZEALOUS at equal privacy."""

from dataclasses import replace

from hybriddp.studies.zealous.records import OPTIN_ALONE
from hybriddp.studies.zealous.runs import WHOLE
from hybriddp.studies.zealous.settings import (
    ACTIVE,
    BLENDER,
    HOMOGENEITY,
    K_KEYWORD,
    K_QUERY,
    K_SESSION,
    NO_PROMISE,
    RECORDS,
    TOWN,
    ZEAL_SIZE,
    ZEALOUS,
    ZEALOUS_OPTIN,
    ZealousSetting,
)
from hybriddp.zealous.events import INDISTINGUISHABLE
from tasks.studies.model import Plot, Series, Study, Sweep
from tasks.studies.zealous.summary import Summary, found, nearest, shown

# ---- attacks ----

_CROWDS = (2, 5, 10, 20, 50, 100)
_BASELINES = (K_QUERY, K_SESSION, K_KEYWORD)
_TITLES = {ACTIVE: "k - 1 fake accounts", HOMOGENEITY: "All k of a group did it"}
_ATTACKED = ZealousSetting(
    population=TOWN, kind=ACTIVE, epsilon=1, delta=1e-5, relaxation=INDISTINGUISHABLE
)


def _conclude_attacks(summary: Summary) -> str:
    of_baselines = [row["advantage"] for row in summary if row["method"] in _BASELINES]
    epsilon = nearest(summary, "epsilon", 1)
    best = found(summary, "best_advantage", method=ZEALOUS, epsilon=epsilon, items_per_user=1)
    return (
        f"Advantage against k-anonymity: {min(of_baselines):g} to {max(of_baselines):g}; against "
        f"ZEALOUS with epsilon {epsilon:g} and m = 1 at best {shown(best, '.3f')}."
    )


attacks = Study(
    name="zealous-attacks",
    title="Attacks on anonymous logs, and on ZEALOUS",
    question="How much does an attacker learn about one search of one person?",
    reading="The attacker knows that k - 1 others asked for the suspected query: their own fake "
    "accounts (ZEAL example 2), or the rest of a group of whom either all asked or not all "
    "(example 1). They conclude from its publication. The advantage is how much likelier that is "
    "if the victim asked, too: 1 is certainty. All three baselines lie on 1. Against ZEALOUS it "
    "is exact, from the law of the noise, and its height is where the threshold is; the last "
    "plot has the number of accounts that suits the attacker best. Delta 1e-5, m = 1.",
    sweeps=(
        *(
            Sweep(
                kind,
                title,
                replace(_ATTACKED, kind=kind, epsilon=NO_PROMISE),
                "min_users",
                _CROWDS,
                _BASELINES,
            )
            for kind, title in _TITLES.items()
        ),
        *(
            Sweep(
                f"{kind}-zealous",
                title,
                replace(_ATTACKED, kind=kind),
                "min_users",
                (2, 5, 7, 10, 15, 20, 24, 30, 40, 45, 50, 70, 100),
                (ZEALOUS,),
                line="epsilon",
                lines=(0.5, 1, 4),
                panel=kind,
            )
            for kind, title in _TITLES.items()
        ),
        Sweep(
            "best",
            "ZEALOUS, any number of accounts",
            _ATTACKED,
            "epsilon",
            (0.1, 0.5, 1, 2, 4, 6),
            (ZEALOUS,),
            line="items_per_user",
            lines=(1, 5),
        ),
    ),
    plots=(
        Plot(
            "advantage",
            "Advantage by the number of users who are alike",
            "advantage",
            (ACTIVE, HOMOGENEITY, f"{ACTIVE}-zealous", f"{HOMOGENEITY}-zealous"),
            (
                Series(K_QUERY, WHOLE, "k-query anonymity"),
                Series(K_SESSION, WHOLE, "k-session anonymity"),
                Series(K_KEYWORD, WHOLE, "k-keyword anonymity"),
                Series(ZEALOUS, WHOLE, short="ZEALOUS"),
            ),
        ),
        Plot(
            "best-advantage",
            "Largest advantage against ZEALOUS",
            "best_advantage",
            ("best",),
            (Series(ZEALOUS, WHOLE, short="ZEALOUS"),),
        ),
    ),
    statements=(
        "ZEAL section 3.2 has both attacks as examples, without numbers.",
        "Largest advantage against one item: tanh(epsilon/4m) (docs/anonymity.md).",
    ),
    limits=(
        "A town of 400 people who ask for nothing like the suspected query. Where others ask, "
        "too, the attacker must know how many, and opens fewer accounts.",
    ),
    outcome=_conclude_attacks,
)

# ---- BLENDER or ZEALOUS ----

_EPSILONS = (0.5, 1, 2, 4, 6)
_SAME_LOG = ZealousSetting(
    population=ZEAL_SIZE, kind=RECORDS, delta=1e-6, relaxation=INDISTINGUISHABLE
)
_SHARES = {"few": 0.05, "many": 0.2}


def _conclude_records(summary: Summary) -> str:
    sentences, epsilon = [], nearest(summary, "epsilon", 4)
    for share in _SHARES.values():
        words = []
        for method, who in ((BLENDER, share), (ZEALOUS_OPTIN, share), (ZEALOUS, 1.0)):
            at = {"epsilon": epsilon, "optin_fraction": who, "part": WHOLE, "method": method}
            n_records = shown(found(summary, "n_records", **at), ",.0f")
            l1 = shown(found(summary, "l1_top_records", **at), ".4f")
            words.append(f"{n_records} records, L1 {l1}")
        sentences.append(
            f"{share * 100:g} % opted in: BLENDER {words[0]}; ZEALOUS of the same people "
            f"{words[1]}; ZEALOUS of everybody {words[2]}"
        )
    return f"At epsilon {epsilon:g}: {'. '.join(sentences)}."


records = Study(
    name="blender-or-zealous",
    title="BLENDER or ZEALOUS, at equal privacy",
    question="On the same log, with the same epsilon and delta: what does each publish?",
    reading="ZEALOUS of everybody needs everybody's trust in the curator. BLENDER needs that of "
    "the opt-in people only; all others send local reports. ZEALOUS of the opt-in people is what "
    "the curator could do without the others. All estimate the share of people whose random "
    "<query, url> record it is. Delta 1e-6; strategy high-utility with up to 1,000 queries and "
    "five records of an opt-in person; ZEALOUS with m = 1, indistinguishable.",
    sweeps=tuple(
        Sweep(
            name,
            f"{share * 100:g} % opted in",
            replace(_SAME_LOG, optin_fraction=share),
            "epsilon",
            _EPSILONS,
            (BLENDER, ZEALOUS_OPTIN),
        )
        for name, share in _SHARES.items()
    )
    + tuple(
        Sweep(
            f"everybody-{name}",
            "Everybody",
            _SAME_LOG,
            "epsilon",
            _EPSILONS,
            (ZEALOUS,),
            panel=name,
        )
        for name in _SHARES
    ),
    plots=tuple(
        Plot(
            name,
            title,
            measure,
            (*_SHARES, *(f"everybody-{name}" for name in _SHARES)),
            (
                Series(ZEALOUS, WHOLE, "ZEALOUS, everybody trusts"),
                Series(ZEALOUS_OPTIN, WHOLE, "ZEALOUS, opt-in people only"),
                Series(BLENDER, OPTIN_ALONE, "BLENDER's opt-in people alone"),
                Series(BLENDER, WHOLE, "BLENDER, opt-in people and clients"),
            ),
            is_logarithmic=is_logarithmic,
        )
        for name, title, measure, is_logarithmic in (
            ("records", "Published records", "n_records", True),
            ("l1", "L1 over the true top 100 records", "l1_top_records", True),
            ("listed-error", "Error of what is listed", "listed_error", True),
            ("top-listed", "Listed of the top 100", "top_listed", False),
            ("ndcg", "NDCG of NDCGs, 100 queries", "ndcg_of_ndcgs", False),
        )
    ),
    statements=("The papers do not compare the two.",),
    limits=(
        "One record of each person in ZEALOUS, because with more its counts would weigh busy "
        "people more than others and estimate something else.",
        "A query's probability is the sum of its listed records in ZEALOUS; BLENDER also "
        "estimates what is not listed.",
    ),
    outcome=_conclude_records,
)
