"""What of a manifest the ledger says: a publication is written from it, and compared with it.

A signature alone says who has the key; beside a ledger `verify` also sees that the key signed what
was reserved, charged and drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.payloads import Drawn, EarlierWeek, Publication, Reserved, Terms
from tasks.ledger.rules import PUBLICATIONS, Attempt, Entry, Kind, left_out_before
from tasks.products.head_list import HEADLIST
from tasks.products.registry import product_of
from tasks.verify.manifest import described_digest, expiry_of


@dataclass(frozen=True)
class InLedger:
    """A publication as the ledger knows it."""

    ledger: Ledger
    publication: Entry

    @cached_property
    def _state(self) -> Attempt:
        return self.ledger.attempt(*self.publication.key)

    @property
    def _reserved(self) -> Reserved:
        if self._state.reserved is None:
            raise LedgerCorrupt("a release was published that was never reserved.")
        return self._state.reserved

    @property
    def facts(self) -> dict[str, Any]:
        """All fields of a manifest that are the ledger's, whatever the product."""
        reserved, facts = self._reserved, self.publication.said(Publication)
        return {
            "schema_version": facts.schema_version,
            "product": reserved.product,
            "locale": reserved.locale,
            "epoch": reserved.epoch,
            "release_id": self.publication.release_id,
            "attempt": self.publication.attempt,
            "revision": facts.revision,
            "sequence": facts.sequence,
            "ledger": {"seq": self.publication.seq, "hash": self.publication.hash},
            "measurements": _digests(self._state) | self._decisions,
            "previous": facts.previous,
            "created": facts.created,
            "expires": expiry_of(facts),
            "code_version": facts.code_version,
            "parameters": reserved.parameters,
            # Version 0.1.0 stated the cap of the reservation.
            "cap": (facts.cap or reserved.policy).as_json(),
        }

    @property
    def hidden(self) -> frozenset[str]:
        """The texts that were measured and are left out."""
        return frozenset(self.publication.said(Publication).blocked)

    @property
    def hidden_before(self) -> frozenset[str]:
        """Those that the week before left out, if it is a week of a season."""
        reserved = self._state.find(Kind.RESERVED)
        return frozenset() if reserved is None else left_out_before(
            reserved, self.ledger.entries(*PUBLICATIONS)
        )  # fmt: skip

    @property
    def knows_the_files(self) -> bool:
        """Whether its row holds the digest of what was published: of label and words, too."""
        return self.publication.said(Publication).described is not None

    def differing(self, signed: Mapping[str, Any]) -> list[str]:
        """Name the fields of a signed manifest that are not what the ledger says."""
        said = self.publication.said(Publication)
        others = {
            "guarantees": self._are_charged(signed["guarantees"]),
            "season": self._is_its_season(signed.get("season")),
            "decimals": signed.get("decimals") in (None, said.settings.get("decimals")),
        }
        own = [name for name, known in self.facts.items() if signed[name] != known]
        found = own + [name for name, agrees in others.items() if not agrees]
        # Whatever differs has another digest, so it says something only where nothing else does.
        is_other = self.knows_the_files and described_digest(signed) != said.described
        return found or (["files, label or words"] if is_other else [])

    @property
    def _decisions(self) -> dict[str, str]:
        product = product_of(self._reserved.parameters)
        return product.checking.decision_digests(self._state) if product.decisions else {}

    def _are_charged(self, promised: Mapping[str, Any]) -> bool:
        """Whether each group was promised what it was charged, and has the people who were."""
        groups = self._reserved.groups
        return promised.keys() == groups.keys() and all(
            _stated(terms).items() <= promised[group].items() for group, terms in groups.items()
        )

    def _is_its_season(self, stated: Mapping[str, Any] | None) -> bool:
        """Whether a week says what its season is, and which weeks were known, as reserved."""
        place = self._reserved.place
        if place is None or stated is None:
            return place is None and stated is None
        weeks = stated["earlier"]
        said = (stated["first_epoch"], stated["numbers"], stated["unseen"], len(weeks))
        reserved = (place.first_epoch, place.numbers, place.unseen, len(place.earlier))
        is_known_list = stated.get("prior_from") in (None, place.names_of)
        return (
            said == reserved and is_known_list and all(map(self._was_drawn, weeks, place.earlier))
        )

    def _was_drawn(self, week: Mapping[str, Any], known: EarlierWeek) -> bool:
        """Whether a week before is the one that was known, with what was drawn in it."""
        state = self.ledger.attempt(known.release_id, known.attempt)
        if state.reserved is None:
            return False
        people = state.reserved.groups[HEADLIST].members
        is_known = (known.as_json() | {"people": people}).items() <= week.items()
        return is_known and week["measurements"].items() <= _digests(state).items()


def _digests(state: Attempt) -> dict[str, str]:
    """Return the digests of all that was drawn."""
    return {e.draw: e.said(Drawn).sha256 for e in state.entries if e.kind is Kind.DRAWN}


def _stated(terms: Terms) -> dict[str, int]:
    """Return what a manifest says of a charge; devices are counted by their reports."""
    said = terms.model_dump(exclude={"members"}, exclude_defaults=True)
    return said if terms.members is None else said | {"people": terms.members}
