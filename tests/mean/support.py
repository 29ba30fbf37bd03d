"""Small logs of numbers, quick requests, and what was measured."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from tasks.budget.reserve import reserve
from tasks.measured.stored import load_measurement
from tasks.products.mean import NUMBERS, SUMS
from tasks.products.mean.draws import MeanRun, identify
from tasks.products.mean.request import MeanRequest
from tasks.products.numbers.log import choose_people, cohort_values, ingest
from tasks.release.run import Release
from tasks.store.home import Home

COUNTRIES = ("DE", "FR", "US")
N_PEOPLE, UPPER = 900, 10.0
# Texts of one person that must not be seen anywhere but in the private zone.
SECRET_PERSON, SECRET_VALUE = "person-7f3a-secret", "secret-diagnosis"


def write_numbers(path: Path, rows: Iterable[tuple[str, str]]) -> Path:
    """Write rows of a person and a number."""
    lines = [f"{person},{number}" for person, number in rows]
    path.write_text("\n".join(["user,dwell", *lines]) + "\n", encoding="utf-8")
    return path


def usual_rows() -> list[tuple[str, str]]:
    """Give every person two rows that add up to 2 or 6: their mean is 4, their variance also 4."""
    rows = [
        (str(person), str(1 + 2 * (person % 2))) for person in range(N_PEOPLE) for _ in range(2)
    ]
    return [*rows, (SECRET_PERSON, SECRET_VALUE), (SECRET_PERSON, "3.25")]


def write_roster(path: Path, people: Mapping[str, tuple[int, str]]) -> Path:
    """Write who opted in, and which country they belong to."""
    lines = [f"{person},{optin},{country}" for person, (optin, country) in people.items()]
    path.write_text("\n".join(["person,optin,country", *lines]) + "\n", encoding="utf-8")
    return path


def usual_people() -> dict[str, tuple[int, str]]:
    """Put every third person into each country; every fifth opted in."""
    return {
        str(person): (int(person % 5 == 0), COUNTRIES[person % 3]) for person in range(N_PEOPLE)
    }


def request_for(log: Path, **settings: object) -> MeanRequest:
    """Ask for a mean with little noise."""
    usual = {
        "epoch": "2026-W46",
        "column": "dwell",
        "upper": UPPER,
        "epsilon": 4.0,
        "optin_fraction": 0.3,
        "columns": {"person": "user", "time": None},
    }
    return MeanRequest(log=log, **(usual | settings))


def reserve_mean(request: MeanRequest, home: Home) -> MeanRun:
    """Run the steps up to the charge, and no further."""
    run = identify(request, home)
    ingest(run)
    choose_people(run)
    reserve(run)
    return run


def everybodys_values(run: MeanRun) -> dict[str, list[tuple[int, float]]]:
    """Return key and number of everybody who was sealed, group by group, in their order."""
    found = {}
    for group in (SUMS, NUMBERS):
        cohort = cohort_values(run, group)
        found[group] = list(zip(cohort.keys.tolist(), cohort.values[:, 0].tolist(), strict=True))
    return found


def measurements_of(release: Release) -> dict[str, pa.Table]:
    """Return the stored measurements."""
    return {group: load_measurement(release, group) for group in release.groups}
