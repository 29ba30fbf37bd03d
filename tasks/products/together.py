"""One form for the settings of any product, where it is not known yet whose release is meant.

It asks for what some product has; whether this release's product has it, and within which limits,
its own form decides.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from tasks.products.product import Product
from tasks.products.request import Form


def settings_of_any(products: Sequence[Product]) -> Any:
    """Return the form of all settings that can change without a charge, none of them asked for."""
    names = dict.fromkeys(name for product in products for name in product.settings.model_fields)
    fields: dict[str, Any] = {}
    for name in names:
        owners = [product for product in products if name in product.settings.model_fields]
        same = [product.settings.model_fields[name] for product in owners]
        words = str(same[0].description).rstrip(".")
        if len(owners) < len(products):
            words += f"; only of {', '.join(product.name for product in owners)}"
        fields[name] = (_kind(name, same), Field(None, description=f"{words}."))
    return create_model("SettingsOfAny", __base__=Form, **fields)


def _kind(name: str, same: Sequence[FieldInfo]) -> Any:
    """Return the type that all products give a setting, with the limits that all of them have."""
    first, *others = same
    if any(field.annotation != first.annotation for field in others):
        raise TypeError(f"products mean different things by {name}: rename one")
    limits = [limit for limit in first.metadata if all(limit in f.metadata for f in others)]
    kind: Any = Annotated[first.annotation, *limits] if limits else first.annotation
    return kind | None
