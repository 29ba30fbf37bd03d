"""What a form is: settings that somebody gives, with their rules, in the order of deciding."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, PlainSerializer, WrapValidator
from pydantic_core import CoreSchema

from tasks.log.raw.addresses import Address, is_address


def _place(value: Any, as_path: Any) -> Any:
    if isinstance(value, Address):
        return value
    return Address.parse(value) if isinstance(value, str) and is_address(value) else as_path(value)


# A path, or an address in a store, which is shown as a path: that is what it is for most.
if TYPE_CHECKING:
    Place = Path | Address
else:
    Place = Annotated[
        Path, WrapValidator(_place), PlainSerializer(str, return_type=str, when_used="json")
    ]

P = TypeVar("P", bound="Form")


class Form(BaseModel):
    """Frozen, and deaf to unknown fields: Prefect's API lets them through, we do not."""

    # Pydantic's own words quote what was given, which may be a password in the wrong place.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def fields_in_order(cls) -> list[str]:
        """Return the fields in the order in which somebody decides on them."""
        return list(cls.model_fields)

    def picked(self, form: type[P]) -> P:
        """Return the part of this that is a form by itself."""
        return form(**{name: getattr(self, name) for name in form.model_fields})

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Show the fields in that order, on Prefect's page, too."""
        shown = handler(core_schema)
        schema = handler.resolve_ref_schema(shown)
        fields = schema.get("properties", {})
        schema["properties"] = {
            name: {**fields[name], "position": place}
            for place, name in enumerate(cls.fields_in_order())
            if name in fields
        }
        return shown
