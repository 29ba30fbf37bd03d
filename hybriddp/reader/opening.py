"""Open a release: follow the shelf, check what is signed, refuse what must not be used."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hybriddp.device.normalise import NORMALISATION
from hybriddp.errors import require
from hybriddp.reader.cache import Cached, Files, Memory, Source
from hybriddp.reader.folder import Folder, Place
from hybriddp.reader.manifest import MANIFEST, Manifest, read_manifest
from hybriddp.reader.refusals import NotAvailable, Reason, ReleaseRefused, refused
from hybriddp.reader.release import Release
from hybriddp.reader.rows import Change, Query, Record, Row, read_rows
from hybriddp.reader.signature import public_key_of
from hybriddp.reader.signed import (
    NOTICE,
    NOTICE_SIGNATURE,
    POINTER,
    check_pointer,
    notice_if_there,
    pointer_if_there,
    read_pointer,
    signed_file,
    signed_manifest,
    withdrawn,
)

_LABEL = "label.md"
_TABLES = ("head_list.jsonl", "trends.jsonl")
_CHANGES = "changes.jsonl"
Pointer = Mapping[str, Any]


def open_release(
    place: str | PathLike[str],
    public_key: bytes | str,
    *,
    of: str | None = None,
    cache: str | PathLike[str] | None = None,
    min_sequence: int = 0,
    now: datetime | None = None,
    timeout: float = 30,
) -> Release:
    """Return the newest release of a shelf, or the one of a folder, if it may be used.

    Raises ReleaseRefused, whose `reason` is one word of REASONS.

    Args:
        place: A shelf (`public/search/all`) or one release's folder: of this machine, or at an
            http or https address.
        public_key: The publisher's, got by a way that you trust: bytes, or hexadecimal digits.
        of: Product and locale that you want, such as "search/all"; another list is refused.
        cache: A folder that is yours alone. There a reader remembers which sequence it saw, so that
            nobody offers it an older list, and keeps what it read from an address.
        min_sequence: Refuse older releases than this.
        now: When it is, with its zone; the machine's clock unless given.
        timeout: Seconds that each file of an address may take.
    """
    key = public_key_of(public_key)
    moment = now or datetime.now(UTC)
    require(moment.tzinfo is not None, "now must have a time zone", "none", "give now.astimezone()")
    name = _place(place)
    memory = None if cache is None else Memory(Path(cache), key, name)
    opened = _follow(_source(name, timeout, memory), key)
    opened.refuse_if_withdrawn()
    files = opened.signed_files()
    manifest = read_manifest(files[MANIFEST])
    _check_wanted(manifest, of, memory)
    _check_current(manifest, moment, min_sequence)
    return opened.release(manifest) if memory is None else _kept(opened, files, manifest, memory)


def _place(place: str | PathLike[str]) -> str:
    """Return a place by the one name that is remembered of it."""
    text = fspath(place)
    return text if "://" in text else str(Path(text).absolute())


def _source(name: str, timeout: float, memory: Memory | None) -> Source:
    if "://" not in name:
        return Source(Folder(Path(name)))
    from hybriddp.reader.site import Site  # it takes as long to import as all of the reader

    site = Site(name, timeout)
    return Source(site) if memory is None else Cached(site, memory.files)


def _follow(shelf: Source, public_key: bytes) -> "_Opening":
    """Return what a shelf leads to, or the place itself if nothing leads anywhere."""
    led = shelf.fresh(pointer_if_there)
    pointer = read_pointer(led[POINTER]) if led else None
    inner = shelf.inner(pointer["release"]) if pointer else shelf
    return _Opening(shelf, led, pointer, inner, public_key)


@dataclass(frozen=True, slots=True)
class _Opening:
    """One release's folder, before anything of it is believed."""

    shelf: Source
    led: Files  # what led from there to here, if anything did
    pointer: Pointer | None
    source: Source
    public_key: bytes

    def refuse_if_withdrawn(self) -> None:
        """Refuse a release that was taken down, and forget what was kept of it."""
        found = self.source.fresh(lambda place: notice_if_there(place, self.public_key))
        if not found:
            return
        error = withdrawn(self.source.place, self.public_key, found[NOTICE])
        if error.reason is Reason.WITHDRAWN:
            with suppress(NotAvailable):  # without a cache it is withdrawn, too
                self.source.keep(found)
                self.source.keep_only((NOTICE, NOTICE_SIGNATURE))
        raise error

    def signed_files(self) -> Files:
        """Return the manifest and its signature."""
        pointer = self.pointer
        if pointer is None:  # another release may stand in the same place the next time
            return self.source.fresh(self._signed)

        def led_to(place: Place) -> Files:
            files = self._signed(place)
            check_pointer(pointer, read_manifest(files[MANIFEST]))
            return files

        return self.source.settled(led_to)

    def _signed(self, place: Place) -> Files:
        try:
            return signed_manifest(place, self.public_key)
        except ReleaseRefused as error:
            if error.reason is not Reason.MISSING or self.pointer is not None:
                raise
            raise refused(
                Reason.MISSING,
                f"{place.name} holds neither {POINTER} nor a whole release ({error}) Nothing is "
                "published there now, or it is another place.",
                error.file,
            ) from None

    def release(self, manifest: Manifest) -> Release:
        """Return what the signed tables say."""
        if not set(_TABLES) <= manifest.files.keys():
            raise refused(
                Reason.NOT_A_LIST,
                f"{manifest.product}/{manifest.locale} is no head list, so there are no queries to "
                "look up; `hybriddp verify` checks a release of any kind.",
                MANIFEST,
            )
        if manifest.normalisation != NORMALISATION:
            raise refused(
                Reason.MALFORMED,
                "the queries are normalised by a rule that this version does not know; update "
                "hybriddp.",
                MANIFEST,
            )
        label = self._file(manifest, _LABEL) if _LABEL in manifest.files else b""
        records, queries = _TABLES
        changed = self._table(manifest, Change, _CHANGES) if _CHANGES in manifest.files else ()
        return Release(
            manifest=manifest,
            label=label.decode("utf-8", "replace"),
            records=self._table(manifest, Record, records),
            queries=self._table(manifest, Query, queries),
            changed=changed,
        )

    def _table(self, manifest: Manifest, kind: type[Row], name: str) -> tuple[Row, ...]:
        n_rows = manifest.rows.get(name.removesuffix(".jsonl"))
        return read_rows(kind, self._file(manifest, name), name, n_rows)

    def _file(self, manifest: Manifest, name: str) -> bytes:
        signed = manifest.files[name]
        return self.source.settled(lambda place: {name: signed_file(place, name, signed)})[name]


def _kept(opened: _Opening, files: Files, manifest: Manifest, memory: Memory) -> Release:
    """Return a release that is not older than what was seen; keep it, and remember it."""
    name = manifest.on_shelf["release"]
    is_named = opened.pointer is None and opened.source.place.name == name
    if not is_named:  # else somebody wants this very release, however old it is
        _check_memory(manifest, memory)
    release = opened.release(manifest)
    if opened.pointer is None:
        opened.source.keep(files)
        return release
    _check_memory(manifest, memory)  # another reader may have seen a newer one meanwhile
    # Only now: a shelf that leads to nothing good must not be what is found offline; and before
    # it is remembered, or else whoever dies here finds an older shelf than is remembered.
    opened.shelf.keep(opened.led)
    opened.shelf.keep_only((POINTER, name))
    memory.remember(manifest.product, manifest.locale, manifest.sequence)
    return release


def _check_wanted(manifest: Manifest, of: str | None, memory: Memory | None) -> None:
    """See that a place holds the list that was wanted, or that it held before."""
    here = f"{manifest.product}/{manifest.locale}"
    before = set() if memory is None else {"/".join(names) for names in memory.lists()}
    wanted = {of} if of is not None else before
    if wanted and here not in wanted:
        raise refused(
            Reason.MIXED_UP,
            f"the place holds a release of {here}, and {' or '.join(sorted(wanted))} is wanted: "
            "somebody put it there, or it is another place.",
            MANIFEST,
        )


def _check_current(manifest: Manifest, now: datetime, min_sequence: int) -> None:
    if manifest.sequence < min_sequence:
        raise _is_older(manifest, str(min_sequence))
    if now >= manifest.expires:
        raise refused(
            Reason.EXPIRED,
            f"the release expired on {manifest.expires.isoformat()}; get a newer one.",
            MANIFEST,
        )


def _check_memory(manifest: Manifest, memory: Memory) -> None:
    """See that readers are led to nothing older than they were led to before."""
    highest = memory.highest(manifest.product, manifest.locale)
    if manifest.sequence < highest:
        raise _is_older(manifest, f"{highest}, which this reader saw")


def _is_older(manifest: Manifest, than: str) -> ReleaseRefused:
    return refused(
        Reason.ROLLED_BACK,
        f"the release has sequence {manifest.sequence}, below {than}: somebody offers an old "
        "release as a new one.",
        POINTER,
    )
