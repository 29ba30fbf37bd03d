"""How measures and varied quantities are called on axes and in tables."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """How a measure is called on an axis and in a table."""

    label: str
    short: str
    more_is_better: bool = False
    limits: tuple[float, float] | None = None  # of the axis, where 0 would hide the differences
    nominal: float | None = None  # what it should be, drawn as a line
    form: str = ".4f"  # of its means in tables


def _covering(what: str) -> Measure:
    return Measure(
        f"share of {what} whose\n95 % interval covers",
        f"covered {what}",
        limits=(0.85, 1.0),
        nominal=0.95,
    )


MEASURES = {
    "l1_records": Measure("L1 distance of records (probability)", "L1 records"),
    "l1_queries": Measure("L1 distance of queries (probability)", "L1 queries"),
    "l1_top_queries": Measure(
        "L1 distance over the true top M\nand the list (probability)", "L1 of the top"
    ),
    "ndcg_queries": Measure("NDCG of queries (1 is best)", "NDCG queries", True),
    "ndcg_of_ndcgs": Measure("NDCG of NDCGs (1 is best)", "NDCG of NDCGs", True),
    "n_queries": Measure("queries on the list (count)", "queries", True, form=".1f"),
    "n_records": Measure("records on the list (count)", "records", True, form=".1f"),
    "p_true": Measure("true share of users (probability)", "true share"),
    "p_blended": Measure("published probability", "published"),
    "p_optin": Measure("opt-in estimate (probability)", "opt-in"),
    "p_clients": Measure("client estimate (probability)", "clients"),
    "p_clients_summed": Measure("client estimate, summed over urls (probability)", "clients, sum"),
    "abs_error": Measure("absolute error (probability)", "absolute error"),
    "listed": Measure("share of runs that list the query", "listed"),
    "l1_common": Measure("L1 of queries that both strategies list", "L1 common"),
    "l1_common_records": Measure("L1 of records that both list", "L1 common"),
    "top_queries": Measure("listed of the true top 50 queries", "of the top 50", True, form=".1f"),
    "coverage_records": _covering("records"),
    "coverage_queries": _covering("queries"),
    "coverage_ranks": _covering("ranks"),
    "relative_width": Measure("width of the median interval (part of p)", "relative width"),
    "error_over_floor": Measure("squared error over its floor", "error/floor", nominal=1.0),
    "alarm": Measure("share of releases with p below 1e-3", "p < 1e-3", limits=(-0.03, 1.03)),
    "withheld": Measure("share of releases that are withheld", "withheld", limits=(-0.03, 1.03)),
    "suspicious": Measure("suspicious records (count)", "suspicious"),
    "found_pushed": Measure("share of runs that find the pushed url", "found"),
    # A year of weekly lists
    "newcomer_weeks": Measure(
        "weeks until a newcomer is listed\n(never: the rest of the year)",
        "newcomers wait",
        form=".1f",
    ),
    "frequent_newcomer_weeks": Measure(
        "weeks until a newcomer of the top 10 is listed\n(never: the rest of the year)",
        "top 10 newcomers wait",
        form=".1f",
    ),
    "newcomers_listed": Measure(
        "newcomers that are listed (share)", "newcomers listed", True, form=".2f"
    ),
    "frequent_newcomers_listed": Measure(
        "newcomers of the top 10 that are listed (share)", "top 10 listed", True, form=".2f"
    ),
    "changes": Measure(
        "queries said to have risen or fallen\nsince the week before", "changes", form=".2f"
    ),
    "false_changes": Measure("of these, queries that did not", "false changes", form=".2f"),
    # ZEALOUS
    "n_distinct": Measure("published items (count)", "published", True, form=",.1f"),
    "total_thousands": Measure("sum of published counts (thousands)", "total / 1000", form=",.1f"),
    "items_each": Measure("different items of a user (mean)", "items/user", form=".1f"),
    "original_thousands": Measure(
        "different items in the log (thousands)", "in the log / 1000", form=",.0f"
    ),
    "second_threshold": Measure("tau', second threshold (users)", "tau'", form=".6g"),
    "average_l1": Measure("average L1 distance (share)", "average L1", form=".3g"),
    "kl_divergence": Measure("KL divergence (nats)", "KL"),
    "n_missing": Measure("missing items of the top j (count)", "missing", form=",.1f"),
    "missing": Measure("missing items of the top j (share)", "missing share", limits=(-0.03, 1.03)),
    "items_of_count": Measure("items with this count (number)", "items", form=".3g"),
    "count_difference": Measure("average difference of counts (users)", "count difference"),
    "hit_probability": Measure("hit probability of the cache", "hits", True),
    "n_cached": Measure("posting lists in memory (count)", "cached", form=",.0f"),
    "ranking_ndcg": Measure("NDCG of substitutes (1 is best)", "NDCG", limits=(0, 1)),
    "ranking_map": Measure("MAP of substitutes (1 is best)", "MAP", limits=(0, 1)),
    "ranking_precision": Measure(
        "precision of substitutes (1 is best)", "precision", limits=(0, 1)
    ),
    "ranking_recall": Measure("recall of substitutes (1 is best)", "recall", limits=(0, 1)),
    "ranking_coverage": Measure("coverage of substitutes (1 is best)", "coverage", form=".5f"),
    "ranking_answered": Measure("queries with any substitute (share)", "answered", form=".5f"),
    "n_pairs": Measure("published query pairs (count)", "pairs", form=",.0f"),
    "advantage": Measure(
        "advantage of the attacker\n(1: certainty)", "advantage", limits=(-0.03, 1.03), form=".3g"
    ),
    "best_advantage": Measure(
        "advantage with as many accounts\nas suit the attacker best",
        "at best",
        limits=(-0.03, 1.03),
        form=".3g",
    ),
    "allowed_advantage": Measure("advantage that the promise allows", "allowed", form=".3g"),
    "l1_top_records": Measure("L1 distance over the true top 100 records", "L1 of the top 100"),
    "listed_error": Measure(
        "error of the listed ones of the top 100\n(part of their share)", "error of the listed"
    ),
    "top_listed": Measure(
        "listed of the true top 100 records (share)", "top 100 listed", limits=(-0.03, 1.03)
    ),
    "table_delta": Measure("delta, probabilistic", "delta", form=".2e"),
    "table_delta_prime": Measure("delta', indistinguishable", "delta'", form=".2e"),
    # Hybrid means
    "improvement_best": Measure(
        "R: squared error of the better baseline,\nover that of the hybrid", "R", True, nominal=1.0
    ),
    "improvement_worst": Measure(
        "r: squared error of the worse baseline,\nover that of the hybrid",
        "r",
        True,
        nominal=1.0,
        form=",.1f",
    ),
    "gain_over_privacy": Measure(
        "squared error of PWH,\nover that of the weight", "over PWH", True, nominal=1.0
    ),
    "skew_change": Measure(
        "R, less that of groups that are alike", "R - R alike", True, nominal=0.0, form="+.4f"
    ),
    "skew_ratio": Measure(
        "R, over that of groups that are alike", "R / R alike", True, nominal=1.0
    ),
    "report_noise_worst": Measure(
        "variance of a report, worst value\n(squares of the range)", "worst noise", form=".4g"
    ),
    "report_noise_average": Measure(
        "variance of a report, average value\n(squares of the range)", "average noise", form=".4g"
    ),
    "mean_error": Measure(
        "expected error of the mean\n(root of the square, part of the range)", "error", form=".2e"
    ),
    "error_over_laplace": Measure(
        "squared error of KVH, over that\nwith Laplace reports", "over Laplace", nominal=1.0
    ),
    "amplified_epsilon": Measure(
        "epsilon' against those who see\nonly the mean", "epsilon'", limits=(0, 1.03), form=".3g"
    ),
    "within_squares": Measure(
        "WCSS: sum of squared distances\nto the nearest centre", "WCSS", form=",.1f"
    ),
}
# Compared between strategies, with a verdict; list sizes are shown but not judged.
JUDGED = (
    "l1_records", "l1_queries", "l1_common", "l1_top_queries", "ndcg_queries", "ndcg_of_ndcgs",
)  # fmt: skip

QUANTITIES = {
    "epsilon": "epsilon (privacy loss of each user)",
    "delta": "delta (probability)",
    "optin_fraction": "opt-in users (share of all users)",
    "max_head_size": "M, queries wanted (count)",
    "headlist_user_fraction": "f_O, opt-in users who find the list (share)",
    "query_budget_fraction": "f_C, budget of a client's query (share)",
    "part": "query (rank in the population)",
    "records_per_user": "records of a person (median)",
    "n_users": "people (count)",
    "week": "week of the year",
    "change": "how searches change",
    "population": "population",
    "plant": "what was planted",
    "method": "method",
    "item_kind": "kind of item",
    "items_per_user": "m, items that each user gives (count)",
    "min_users": "k, users who are alike (count)",
    "relaxation": "meaning of delta",
    "first_threshold": "tau, first threshold (users)",
    "threshold": "tau', second threshold (users)",
    "noise": "the curator's noise",
    "n_iterations": "tau, iterations (count)",
}
