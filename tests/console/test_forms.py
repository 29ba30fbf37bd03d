"""Commands take their options from the forms: every field has one, and what is given arrives."""

import inspect
from types import SimpleNamespace

import pytest
from pydantic import Field, ValidationError
from typer.testing import CliRunner

from flows.cli import products
from flows.cli.main import app
from flows.console.forms import filling_in
from hybriddp.errors import InvalidParameter
from tasks.plan.request import PlanRequest
from tasks.products.registry import PRODUCTS, product_named
from tasks.products.request import Form
from tasks.products.together import settings_of_any
from tasks.release.reprocess import ReprocessRequest

by_product = pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)


def given_to(form, **arguments):
    """Return the settings that a command of a form understands these arguments as."""
    seen = []
    command = filling_in(form)(seen.append)
    known = inspect.signature(command).parameters
    command(**{name: None for name in known} | arguments)
    return seen[0]


FORMS = {product.name: product.request for product in PRODUCTS}
FORMS |= {"plan": PlanRequest, "reprocess": ReprocessRequest}


@pytest.mark.parametrize("command", FORMS)
def test_every_field_has_an_option_with_its_words_and_its_default(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "500"}).stdout
    text = " ".join(shown.split())
    parts = {"points", "release_id"}  # whose fields have options of their own, and an argument
    for name, field in FORMS[command].model_fields.items():
        if name in parts:
            continue
        extra = field.json_schema_extra or {}
        assert extra.get("option", f"--{name.replace('_', '-')}") in text, name
        assert " ".join(field.description.rstrip(".").split()) in text, name
        default = field.default
        if isinstance(default, int | float) and not isinstance(default, bool):
            assert f"default: {default:g}" in text or f"default: {default}" in text, name


@by_product
def test_what_an_operator_must_decide_comes_first(product):
    order = product.request.fields_in_order()
    assert sorted(order) == sorted(product.request.model_fields)
    assert order[:2] == ["log", "epoch"]
    schema = product.request.model_json_schema()["properties"]
    assert list(schema) == order
    assert [field["position"] for field in schema.values()] == list(range(len(order)))
    assert order.index("epsilon") < order.index("valid_days") < order.index("sign_off")


def test_what_is_given_arrives():
    request = product_named("release").request
    given = given_to(request, log="l.tsv", epsilon=3.0, columns=["person=uid"], sign_off=True)
    assert given == {"log": "l.tsv", "epsilon": 3.0, "columns": {"person": "uid"}, "sign_off": True}


def test_columns_of_points_are_put_together():
    request = product_named("kmeans").request
    given = given_to(request, column=["a", "b"], upper=[1.0, 2.0], per_person=["max"])
    assert given == {
        "points": [
            {"column": "a", "upper": 1.0, "per_person": "max"},
            {"column": "b", "upper": 2.0, "per_person": "max"},
        ]
    }
    for wrong in ({"upper": [1.0]}, {"upper": [1.0, 2.0], "per_person": ["max"] * 3}):
        with pytest.raises(InvalidParameter, match="must be given equally often"):
            given_to(request, column=["a", "b"], **wrong)


def test_a_form_without_defaults_is_filled_in_too():
    assert given_to(ReprocessRequest, release_id="x") == {"release_id": "x"}


def test_reprocessing_asks_for_every_setting_of_every_product_and_for_no_other():
    settings = {name for product in PRODUCTS for name in product.settings.model_fields}
    assert set(ReprocessRequest.model_fields) == settings | {"release_id", "accept_collapse"}
    assert ReprocessRequest.fields_in_order()[0] == "release_id"
    nothing = ReprocessRequest(release_id="x").model_dump(exclude={"release_id"})
    assert not any(nothing.values()), "what is left out stays as it was"


class _Words(Form):
    decimals: int = Field(3, ge=1, le=9, description="Decimals of words.")
    depth: int = Field(1, description="Only here.")


class _Numbers(Form):
    decimals: int = Field(3, ge=0, le=9, description="Decimals of numbers.")


class _Texts(Form):
    decimals: str = Field("3", description="Decimals of numbers.")


def _products(*forms):
    return [SimpleNamespace(name=form.__name__, settings=form) for form in forms]


def test_settings_of_several_products_have_the_firsts_words_and_only_limits_that_all_have():
    form = settings_of_any(_products(_Words, _Numbers))
    described = {name: field.description for name, field in form.model_fields.items()}
    assert described == {"decimals": "Decimals of words.",
                         "depth": "Only here; only of _Words."}  # fmt: skip
    assert form(decimals=0).decimals == 0, "one product allows it; the other's own form does not"
    with pytest.raises(ValidationError):
        form(decimals=10)
    with pytest.raises(TypeError, match="different things by decimals"):
        settings_of_any(_products(_Words, _Texts))


def test_a_product_that_does_not_exist_has_no_command():
    with pytest.raises(Exception, match="there is no product nonsense"):
        products.nonsense  # noqa: B018
    assert CliRunner().invoke(app, ["nonsense"]).exit_code == 2
