"""What a kind of release publishes; everything else about publishing is the same for all."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tasks import head_list_product, zealous_product
from tasks.manifest import Content
from tasks.request import PublishSettings
from tasks.run import Release
from tasks.zealous_request import HistogramSettings, is_zealous

Settings = PublishSettings | HistogramSettings


class Product(Protocol):
    """A module with these functions; each reads the ledger and the measurements alone."""

    def listed_queries(self, release: Release) -> Iterable[str]:
        """Return the queries that would be published if none were blocked."""

    def content(self, release: Release, publication: Mapping[str, Any]) -> Content:
        """Build the files of a publication, and say what is in them."""

    def label(self, release: Release, facts: Mapping[str, Any]) -> str:
        """Say in plain words what was promised; `facts` is the manifest without the label."""


def product_of(parameters: Mapping[str, Any]) -> Product:
    """Return the product that these measurement parameters make."""
    return zealous_product if is_zealous(parameters) else head_list_product
