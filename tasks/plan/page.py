"""A plan in words and tables, for the terminal and for Prefect's page alike."""

from collections.abc import Callable

from hybriddp.planning.planner import Prediction, Quantity
from hybriddp.rounding import rounded_up
from tasks.ledger.charges import Charge
from tasks.plan.plan import Plan

_ROLES = {"S": "find the list", "T": "measure it", "C": "report on it"}
_PERIODS = {1: "day", 7: "week", 30: "month", 365: "year"}


def _plain(digits: int) -> Callable[[Quantity], str]:
    return lambda q: f"{q.value:.{digits}f} ± {q.sd or 0:.{digits}f}"


def _percent(digits: int) -> Callable[[Quantity], str]:
    return lambda q: f"{q.value:.{digits}%} ± {q.sd or 0:.{digits}%}"


_ROWS: tuple[tuple[str, str, Callable[[Quantity], str]], ...] = (
    ("queries on the list", "head_queries", _plain(1)),
    ("records (query and url)", "head_records", _plain(1)),
    ("searches covered", "covered_mass", _percent(2)),
    ("L1 error of records", "l1_records", _plain(4)),
    ("L1 error of queries", "l1_queries", _plain(4)),
    ("NDCG of queries", "ndcg_queries", _plain(3)),
    ("NDCG of NDCGs", "ndcg_of_ndcgs", _plain(3)),
    ("half a median 95 % interval", "interval_margin", _percent(3)),
    ("  as a part of p", "interval_relative", _percent(0)),
    ("missing of the true top M", "missing_share", _percent(0)),
    ("listed outside the top M", "spurious_share", _percent(0)),
)

Table = list[tuple[str, ...]]


def prediction_table(plan: Plan) -> Table:
    """Return a header and rows: what is predicted, for each of the plan's settings."""
    columns = plan.columns
    header = ("predicted for a release", *columns)
    rows = [
        (label, *(_cell(prediction[name], form) for prediction in columns.values()))
        for label, name, form in _ROWS
    ]
    return [header, *rows]


def setting_table(plan: Plan) -> Table:
    """Return a header and rows: what each of the plan's settings is."""
    rows: list[tuple[str, Callable[[Prediction], str]]] = [
        ("strategy", lambda p: p.setting.params.strategy),
        ("noise of finding", lambda p: p.setting.params.finding),
        ("queries at most (M)", lambda p: str(p.setting.params.max_head_size)),
        ("share who find it (f_O)", lambda p: _number(p, "headlist_user_fraction")),
        ("records a person (m)", lambda p: str(p.setting.params.max_records_optin)),
        ("client reports", _client_report),
        ("rotation", lambda p: str(p.setting.rotation)),
        ("people who find the list (S)", lambda p: f"{p.setting.n_finders:,}"),
        ("people who measure it (T)", lambda p: f"{p.setting.n_measurers:,}"),
        ("clients who report on it (C)", lambda p: f"{p.setting.n_clients:,}"),
        ("noisy people a record needs", lambda p: f"{p.threshold:.0f}"),
    ]
    header = ("setting", *plan.columns)
    return [header, *((label, *map(show, plan.columns.values())) for label, show in rows)]


def cost_table(plan: Plan) -> Table:
    """Return a header and rows: what each group's members pay."""
    budget, people = plan.budget, plan.asked.setting
    sizes = {"S": people.n_finders, "T": people.n_measurers, "C": people.n_clients}
    header = ("cost as asked", "people", "each pays", f"in {_span(budget.horizon_days)}")
    rows = [
        (
            f"{group}: {_ROLES[group]}",
            f"{sizes[group]:,}",
            str(price),
            str(Charge(price.epsilon * budget.served, price.delta * budget.served)),
        )
        for group, price in budget.prices.items()
    ]
    return [header, *rows]


def headline(plan: Plan) -> str:
    """Say in one sentence what to expect of the release as asked."""
    setting, asked = plan.asked.setting, plan.asked
    budget = setting.params.budget
    promise = f"epsilon {rounded_up(budget.epsilon)}, delta {rounded_up(budget.delta)}"
    if asked.is_empty:
        return (
            f"Nothing would be listed: at {promise} a record needs {asked.threshold:.0f} noisy "
            f"people of {setting.n_finders:,}."
        )
    return (
        f"About {asked['head_queries'].value:.0f} queries with {asked['head_records'].value:.0f} "
        f"records, {asked['covered_mass'].value:.1%} of all searches, at {promise}."
    )


def runway_words(plan: Plan) -> list[str]:
    """Say how long the cap lasts."""
    budget = plan.budget
    window = f"{budget.window_days} days" if budget.window_days else "life"
    cap = f"Cap {budget.cap} for {window} ({budget.cap_from})"
    if budget.fits == 0:
        return [f"{cap}: not even one release like this fits."]
    turns = f"{budget.fits} release{'s' if budget.fits > 1 else ''}"
    if budget.lasts is None:
        lasts = "it refills fast enough for releases without end"
    else:
        lasts = (
            f"releases every {budget.every} with rotation {budget.rotation} last "
            f"{budget.lasts} {budget.every}{'s' if budget.lasts > 1 else ''}"
        )
    words = [f"{cap}: a person can serve in {turns}; {lasts}."]
    if budget.fits_most_charged is not None:
        more = budget.fits_most_charged or "no"
        words.append(f"The most charged person can serve in {more} more.")
    if budget.gaussian is not None:
        words.append(
            "Some people have a Gaussian loss, which is charged in rho: whoever has one may lose "
            f"{budget.gaussian.most} besides, which is {budget.gaussian.fits or 'no'} release"
            f"{'' if budget.gaussian.fits == 1 else 's'} like this."
        )
    return words


def as_markdown(plan: Plan) -> str:
    """Return the whole plan as one markdown page."""
    parts = [f"{headline(plan)} Predicted from {plan.source}; nothing was spent."]
    parts += [_markdown_table(table(plan)) for table in (prediction_table, setting_table)]
    if plan.reasons:
        parts.append("**Suggestion**\n\n" + _bullets(plan.reasons))
    parts.append(_markdown_table(cost_table(plan)) + "\n\n" + " ".join(runway_words(plan)))
    if plan.season is not None:
        parts.append(_markdown_table(plan.season.table) + "\n\n" + " ".join(plan.season.words))
    parts.append("**Assumptions**\n\n" + _bullets(plan.assumptions))
    return "\n\n".join(parts)


def _cell(quantity: Quantity, form: Callable[[Quantity], str]) -> str:
    return "-" if quantity.mean is None else form(quantity)


def _number(prediction: Prediction, field: str) -> str:
    return f"{float(getattr(prediction.setting.params, field)):g}"


def _client_report(prediction: Prediction) -> str:
    params = prediction.setting.params
    if params.client_report == "one-stage":
        return params.client_report
    return f"{params.client_report}, f_C {float(params.query_budget_fraction):g}"


def _span(days: int) -> str:
    return f"a {_PERIODS[days]}" if days in _PERIODS else f"{days} days"


def _markdown_table(table: Table) -> str:
    header, *rows = table
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cell.strip() for cell in line)} |" for line in lines)


def _bullets(sentences: tuple[str, ...]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
