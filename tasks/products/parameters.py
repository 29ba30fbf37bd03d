"""Measurement parameters: what decides a measurement, read once at the door, as numbers and names.

A request makes them, a reservation keeps them, a manifest shows them; behind the door nobody looks
into a mapping. Forms of `tasks.verify.form` say what fits, so a model and a manifest agree.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from hybriddp.errors import InvalidParameter
from hybriddp.exact import exact
from tasks.verify.form import exact_number, fields, fitting, named, scalar, short, whole


def _exact(value: Any) -> Fraction:
    if isinstance(value, Fraction):  # as a request makes it
        return value
    if not exact_number(value):
        raise ValueError("a number that was not written exactly")
    return exact(value, "a number")


# A number that is stored as the text of a fraction, such as 4 or 1/100000.
Exact = Annotated[Fraction, PlainValidator(_exact), PlainSerializer(str, return_type=str)]
Short = Annotated[str, fitting(short)]
Column = Annotated[str, fitting(named)]


class MeasurementParameters(BaseModel):
    """What every kind of release is asked for.

    What a later version adds is kept, and not computed with. What an earlier one did not write has
    a default, which means what it meant then.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    strategy: str
    mechanism_version: str  # of its laws, and of what a measurement means
    epsilon: Exact
    delta: Exact
    optin: Short
    rotation: Annotated[int, fitting(whole(1, 10_000))]
    times: Short | None = None  # version 0.1.0 knew no times

    @model_validator(mode="after")
    def _others_are_simple(self) -> Self:
        """What a later version adds may be a number or a short text, and not much of it."""
        if not fields({}, scalar)(self.model_extra):
            raise ValueError("something that no release is asked for")
        return self

    @classmethod
    def read(cls, mapping: Mapping[str, Any]) -> Self:
        """Read what a reservation or a manifest holds; values stay out of what is raised."""
        try:
            return cls.model_validate(mapping)
        except ValidationError as error:
            at_fault = {found["loc"][0] for found in error.errors() if found["loc"]}
            places = [name for name in cls.model_fields if name in at_fault]  # no foreign text
            raise InvalidParameter(
                f"measurement parameters do not fit in {', '.join(places) or 'their form'}; "
                "update hybriddp."
            ) from None

    def as_json(self) -> dict[str, Any]:
        """Return the mapping that is stored: ids and manifests are made of it."""
        return self.model_dump(mode="json", exclude_unset=True)
