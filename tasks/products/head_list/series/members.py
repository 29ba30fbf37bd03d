"""Who has taken part in a season before, by account. Private."""

import pyarrow as pa

from tasks.budget.spending import sealed_file
from tasks.log.engine import Engine
from tasks.products.head_list.run import HeadListRun
from tasks.products.head_list.series.place import of_season, weeks_of


def put_members(engine: Engine, run: HeadListRun) -> None:
    """Fill `season_participation`: who was sealed into earlier weeks whose noise may be drawn.

    A reservation whose draw has not begun may still be given back, and what whoever joins pays for
    the tests with it; so it does not count.
    """
    request = run.request
    weeks = weeks_of(run.ledger.entries(), request.product, request.locale, run.place.series)
    begun = [week for week in of_season(weeks, run.place) if week.has_begun]
    files = dict.fromkeys(sealed_file(run.home, week.reserved.participation) for week in begun)
    if files:
        engine.read_sealed("season_participation", list(files))
    else:
        empty = {"account": pa.binary(), "cohort": pa.string()}
        engine.put("season_participation", pa.table({n: pa.array([], t) for n, t in empty.items()}))
