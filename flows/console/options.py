"""Options that several commands have; each is left out, or changes what its request says."""

from pathlib import Path
from typing import Annotated

import typer

Log = Annotated[Path | None, typer.Option(help="Log: TSV, CSV or Parquet; file or folder.")]
Epoch = Annotated[
    str | None, typer.Option(help="Period: 2026-W46, 2026-11 or 2026-11-16; last-week.")
]
Config = Annotated[Path | None, typer.Option(help="TOML file with any of these settings.")]
Locale = Annotated[str | None, typer.Option(help="Locale; default: all.")]
Roster = Annotated[Path | None, typer.Option(help="Who takes part: columns person, optin.")]
Rotation = Annotated[int | None, typer.Option(help="Each person serves every R-th epoch.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="Other column names, such as person=UserId.")
]
BadRows = Annotated[float | None, typer.Option(help="More bad rows stop it.")]
OutsideEpoch = Annotated[
    float | None, typer.Option(help="More rows of other epochs stop it; 0.999.")
]
ExactIds = Annotated[
    bool | None, typer.Option("--exact-ids", help="Ids that differ only by case or zeros are two.")
]
GroupSize = Annotated[int | None, typer.Option(help="Smallest group; 2.")]
Blocklist = Annotated[
    Path | None, typer.Option(help="Queries never to publish; for good, in every revision.")
]
ValidDays = Annotated[int | None, typer.Option(help="Days until it expires; 14.")]
MaxBytes = Annotated[int | None, typer.Option(help="Largest file to ship.")]
SignOff = Annotated[bool | None, typer.Option("--sign-off", help="Ask before it is published.")]
NewAttempt = Annotated[
    bool | None, typer.Option("--new-attempt", help="Pay again after a burnt draw.")
]
PayAgain = Annotated[
    bool | None, typer.Option("--pay-again", help="Pay for a second release of an epoch.")
]
IgnorePlan = Annotated[
    bool | None, typer.Option("--ignore-plan", help="Pay although an empty list is expected.")
]
AcceptCollapse = Annotated[
    bool | None,
    typer.Option("--accept-collapse", help="Publish an empty list, or one half of the last one."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Agree to what cannot be undone.")]
