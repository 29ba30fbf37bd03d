"""The collection package: the signed list and parameters that devices report on."""

from pathlib import Path

from hybriddp.package import PACKAGE_FILE, SIGNATURE_FILE, CollectionPackage, signed_bytes
from tasks.home import whole_directory
from tasks.keys import Keyring
from tasks.ledger import LedgerCorrupt
from tasks.processing import published_listing
from tasks.run import Release


def collection_id(release: Release) -> str:
    """Return the id that reports name: a new attempt has a new list, and so a new id."""
    return release.release_id + (f"{release.attempt:04x}" if release.attempt > 1 else "")


def build_package(release: Release) -> CollectionPackage:
    """Describe the release to devices; everything in it is public."""
    reserved = release.reservation
    return CollectionPackage(
        release_id=collection_id(release),
        product=reserved["product"],
        epoch=reserved["epoch"],
        locale=reserved["locale"],
        params=release.params,
        head_list=tuple(
            (query, tuple(urls)) for query, urls in published_listing(release).urls_by_query.items()
        ),
    )


def publish_package(release: Release) -> Path:
    """Write the signed package, or find that it is there already; return its folder."""
    data = build_package(release).to_bytes()
    folder = release.home.collection(collection_id(release))
    if folder.exists():
        if (folder / PACKAGE_FILE).read_bytes() != data:
            raise LedgerCorrupt(
                f"{folder} holds another package than these measurements give; restore it."
            )
        return folder
    with whole_directory(folder) as partial:
        (partial / PACKAGE_FILE).write_bytes(data)
        signature = Keyring.open(release.home).signing.sign(signed_bytes(data))
        (partial / SIGNATURE_FILE).write_bytes(signature)
    return folder
