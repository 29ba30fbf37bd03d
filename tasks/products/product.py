"""What a product is: one object, by which everything else is written once, for any product.

Making a release needs forms, DuckDB and more; checking one needs none of that. So the large parts
of a product are imported when they are asked for.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tasks.imports import importing

if TYPE_CHECKING:
    import pyarrow as pa

    from tasks.gates.quality import Verdict
    from tasks.ledger.rules import Attempt
    from tasks.products.files import Made
    from tasks.products.request import LogRequest
    from tasks.release.run import LogRun, Release
    from tasks.release.step import Steps
    from tasks.release.summary import Published, Summary
    from tasks.store.home import Home
    from tasks.verify.checks import LeftOut
    from tasks.verify.manifest import Manifest, Words

    Tables = Mapping[str, pa.Table]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group:
    """People who serve in one draw of a release, as ledgers and manifests know them."""

    name: str
    called: str  # in a refusal
    file: str  # of its measurement
    is_client: bool = False  # its people did not opt in
    is_part: bool = False  # its people are some of those of the groups that it stands with, or none


@dataclass(frozen=True, slots=True)
class Later(Generic[T]):
    """A part that is imported when it is asked for: a module, or a name in one."""

    module: str
    name: str | None = None

    def get(self) -> T:
        """Import it."""
        with importing():
            module: Any = import_module(self.module)
        return module if self.name is None else getattr(module, self.name)  # type: ignore[no-any-return]


class Checking(Protocol):
    """The public half of a product: whatever follows from a manifest alone."""

    MANIFEST: "type[Manifest]"  # how its manifests are read; the rest gets what it reads

    def schemas(self, manifest: Any) -> "dict[str, pa.Schema]":
        """Return the columns of every published table."""

    def groups(self, manifest: Any) -> tuple[str, ...]:
        """Return the groups that have a measurement."""

    def check_promise(self, manifest: Any, tables: "Tables") -> None:
        """See that what the manifest promises fits together; raise VerificationFailed."""

    def earlier(self, manifest: Any) -> Iterable[tuple[str, str, int, str, str]]:
        """Return which measurements of others it needs: key, release, attempt, group, digest."""

    def words(self, manifest: Any) -> "Words":
        """Return the fixed texts of every group's guarantee."""

    def label(self, manifest: Any) -> str:
        """Write the label that belongs to a manifest."""

    def decision_digests(self, state: "Attempt") -> dict[str, str]:
        """Return the digests of the decisions that were made; only who has such is asked."""

    def decided(self, measured: "Tables", decisions: Mapping[str, Any]) -> "Tables":
        """Return the measurements as decisions change them; only who has such is asked."""

    def recomputed_files(
        self, manifest: Any, tables: "Tables", measured: "Tables", left_out: "LeftOut"
    ) -> dict[str, bytes]:
        """Return the data files without these texts, or without what is missing; or raise."""


class Making(Protocol):
    """The curator's half; each function reads the ledger and the measurements alone."""

    def blocked(self, release: "Release", settings: Any) -> list[str]:
        """Return the texts that are measured and not to be published."""

    def make(
        self, release: "Release", settings: Mapping[str, Any], hidden: frozenset[str], version: int
    ) -> "Made":
        """Build the tables of a publication without these texts, and say what is in them.

        `version` is the manifest's: what was published by an earlier one is made again as it was.
        """

    def judge(
        self, release: "Release", made: "Made", settings: Any, hidden: frozenset[str]
    ) -> "Verdict":
        """Judge what would be published; raise GateRefused."""


class Working(Protocol):
    """How a release is made: which one it is, and its steps, in order."""

    STEPS: "Steps"
    ESTIMATION: "Steps"  # those between measurements and tables: done again, they cost nothing

    def identify(self, request: Any, home: "Home") -> "LogRun":
        """Find out which release a request means; refuse what cannot be drawn."""


@dataclass(frozen=True, eq=False)
class Product:
    """One kind of release."""

    name: str  # of its command and its flow
    help: str
    strategies: tuple[str, ...]  # what measurement parameters call it
    # In the order of the draws. Groups of one tuple share their people, who pay for each of them;
    # nobody is in groups of two tuples of a release. A group may be a part of the others.
    people: tuple[tuple[Group, ...], ...]
    event_modules: tuple[str, ...]  # of the draws; reading a ledger needs them
    lists: tuple[str, ...]  # those of its tables that name texts, and so may name none
    suites: tuple[str, ...]  # of expectations: of its log, and of what it publishes
    checking_part: Checking | Later[Checking]
    making_part: Making | Later[Making]
    settings_part: type[Any] | Later[type[Any]]  # the form of what can change without a charge
    request_part: type[Any] | Later[type[Any]]  # the form of what an operator asks for
    working_part: Working | Later[Working]
    summary_part: Any
    remembers: bool = False  # some of its releases are made from earlier ones, too
    shows_devices: str | None = None  # the draw whose result its packages for devices hold
    # What was decided between draws: what a manifest calls it among its measurements, and its file.
    decisions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def in_room(cls, room: str, *, request: str, settings: str, **facts: Any) -> "Product":
        """Describe a product whose parts are modules of one room, under their usual names."""
        return cls(
            checking_part=Later(f"{room}.verify"),
            making_part=Later(f"{room}.product"),
            settings_part=Later(f"{room}.request", settings),
            request_part=Later(f"{room}.request", request),
            working_part=Later(f"{room}.steps"),
            summary_part=Later(f"{room}.summary", "summary"),
            **facts,
        )

    @cached_property
    def checking(self) -> Checking:
        """What follows from a manifest alone."""
        return _now(self.checking_part)

    @cached_property
    def making(self) -> Making:
        """What the curator does with measurements."""
        return _now(self.making_part)

    @cached_property
    def settings(self) -> type[Any]:
        """The form of what can change without a charge."""
        return _now(self.settings_part)

    @cached_property
    def request(self) -> type["LogRequest"]:
        """The form of what an operator asks for."""
        return _now(self.request_part)

    @cached_property
    def working(self) -> Working:
        """The steps of a release."""
        return _now(self.working_part)

    @cached_property
    def summary(self) -> Callable[["Published"], "Summary"]:
        """What a terminal shows of a release."""
        found: Callable[[Published], Summary] = _now(self.summary_part)
        return found

    @cached_property
    def groups(self) -> Mapping[str, Group]:
        """All groups by name, in the order of their draws."""
        return {group.name: group for together in self.people for group in together}

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return groups in the order of their draws."""
        there = self._known(names)
        return tuple(name for name in self.groups if name in there)

    def people_of(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the groups of a release, those that have the same people together."""
        there = self._known(names)
        found = (tuple(g.name for g in together if g.name in there) for together in self.people)
        return [together for together in found if together]

    def _known(self, names: Iterable[str]) -> frozenset[str]:
        """Refuse a group that the product does not have: what it pays would count for nothing."""
        there = frozenset(names)
        if there - set(self.groups):
            raise LookupError(f"{self.name} has no such group; update hybriddp.")
        return there

    def propose(
        self, release: "Release", settings: Any, hidden: frozenset[str] | None = None
    ) -> "Made":
        """Build what these settings would publish now."""
        from tasks.verify.manifest import SCHEMA_VERSION

        hidden = frozenset(self.making.blocked(release, settings)) if hidden is None else hidden
        return self.make(release, settings.model_dump(), hidden, SCHEMA_VERSION)

    def make(
        self, release: "Release", settings: Mapping[str, Any], hidden: frozenset[str], version: int
    ) -> "Made":
        """Build a publication, if its measurements are there.

        Whatever the steps wrote of one that is lost since is not published: nobody could check it.
        """
        from tasks.measured.stored import load_measurement

        for group in release.groups:
            load_measurement(release, group)
        return self.making.make(release, settings, hidden, version)

    def judge(self, release: "Release", settings: Any) -> "Verdict":
        """Judge what these settings would publish; raise GateRefused."""
        hidden = frozenset(self.making.blocked(release, settings))
        made = self.propose(release, settings, hidden)
        return self.making.judge(release, made, settings, hidden)

    def import_events(self) -> None:
        """Make the events of its draws known."""
        for module in self.event_modules:
            import_module(module)


def _now(part: T | Later[T]) -> T:
    return part.get() if isinstance(part, Later) else part
