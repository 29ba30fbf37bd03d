"""The ledger's clock, to be set by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from tasks.ledger.ledger import Ledger


class Clock:
    """What `Ledger.now` says; make it before the home, whose first row is dated too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moment = datetime(2026, 11, 10, 12, tzinfo=UTC)
        monkeypatch.setattr(Ledger, "now", lambda _: self.moment)

    def advance(self, **time: float) -> None:
        self.moment += timedelta(**time)
