"""What a kind of release publishes; everything else about publishing is the same for all."""

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from tasks import head_list_product, kmeans_product, mean_product, zealous_product
from tasks.kmeans_request import ClusterSettings
from tasks.manifest import Content
from tasks.mean_request import MeanSettings
from tasks.quality import Verdict
from tasks.request import PublishSettings
from tasks.run import Release
from tasks.strategies import KMEANS, MEAN, ZEALOUS
from tasks.zealous_request import HistogramSettings

Settings = PublishSettings | HistogramSettings | MeanSettings | ClusterSettings


class Product(Protocol):
    """A module with these names; each function reads the ledger and the measurements alone."""

    def blocked(self, release: Release, settings: Any) -> list[str]:
        """Return the texts that are measured and not to be published."""

    def preview(self, release: Release, settings: Any) -> Mapping[str, pa.Table]:
        """Build the tables as they would be published, by name."""

    def judge_release(self, release: Release, settings: Any) -> Verdict:
        """Judge what would be published; raise GateRefused."""

    def content(self, release: Release, publication: Mapping[str, Any]) -> Content:
        """Build the files of a publication, and say what is in them."""

    def label(self, release: Release, facts: Mapping[str, Any]) -> str:
        """Say in plain words what was promised; `facts` is the manifest without the label."""


_PRODUCTS: dict[str, Product] = {
    ZEALOUS: zealous_product,
    MEAN: mean_product,
    KMEANS: kmeans_product,
}


_SETTINGS: dict[str, type[Settings]] = {
    ZEALOUS: HistogramSettings,
    MEAN: MeanSettings,
    KMEANS: ClusterSettings,
}


def settings_of(parameters: Mapping[str, Any]) -> type[Settings]:
    """Return the form of the settings with which such measurements are published."""
    return _SETTINGS.get(parameters["strategy"], PublishSettings)


def product_of(parameters: Mapping[str, Any]) -> Product:
    """Return the product that these measurement parameters make."""
    return _PRODUCTS.get(parameters["strategy"], head_list_product)


def is_head_list(parameters: Mapping[str, Any]) -> bool:
    """Whether these parameters make a head list, which is estimated in many steps."""
    return product_of(parameters) is head_list_product


def has_lists(parameters: Mapping[str, Any]) -> bool:
    """Whether a release names texts, and so may name none; means and clusters always are there."""
    return product_of(parameters) in (head_list_product, zealous_product)
