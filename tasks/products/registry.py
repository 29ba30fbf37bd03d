"""The one list of products; nothing else knows which there are."""

from collections.abc import Mapping
from typing import Any

from hybriddp.errors import HybridDPError
from tasks.products.clusters import CLUSTERS
from tasks.products.head_list import HEAD_LIST
from tasks.products.histograms import HISTOGRAMS
from tasks.products.mean import MEANS
from tasks.products.product import Group, Product

PRODUCTS: list[Product] = [HEAD_LIST, HISTOGRAMS, MEANS, CLUSTERS]


class UnknownProduct(HybridDPError):
    """A release is of a product that this program does not have."""


def product_of(parameters: Mapping[str, Any]) -> Product:
    """Return the product that these measurement parameters make."""
    return product_with(parameters.get("strategy"))


def product_with(strategy: object) -> Product:
    """Return the product that measurement parameters call by this strategy."""
    for product in PRODUCTS:
        if strategy in product.strategies:
            return product
    raise UnknownProduct(
        "the release is of a product that this version does not know; update hybriddp."
    )


def product_named(name: str) -> Product:
    """Return the product of a command or a flow."""
    for product in PRODUCTS:
        if product.name == name:
            return product
    raise UnknownProduct(f"there is no product {name}; there are {[p.name for p in PRODUCTS]}.")


def draws_shown_to_devices() -> tuple[str, ...]:
    """Return the draws of which there may be a package for devices."""
    return tuple(product.shows_devices for product in PRODUCTS if product.shows_devices)


def group_of_file(file: str) -> Group | None:
    """Return whose measurement a file is, by its name."""
    groups = (group for product in PRODUCTS for group in product.groups.values())
    return next((group for group in groups if group.file == file), None)
