"""A command's options, made from the form that it fills in: names, types, limits, defaults, help.

One place says what a setting is, and that is its field.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import typer
from pydantic.fields import FieldInfo

from flows.console.settings import read_settings
from hybriddp.errors import require
from tasks.products.request import Form

ConfigOption = Annotated[Path | None, typer.Option(help="TOML file with any of these settings.")]
_SCALARS = (bool, int, float, str)


def filling_in(form: type[Form], **besides: Any) -> Callable[[Callable[..., None]], Any]:
    """Make a command of a function of the settings that somebody gave, and of other options.

    Args:
        besides: Types of the function's other arguments; what has no default must be given.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        options = {
            "config": inspect.Parameter("config", _KEYWORD, default=None, annotation=ConfigOption)
        }
        for name, field in _fields(form).items():
            options |= {option.name: option for option in _options(name, field)}
        own = inspect.signature(function).parameters

        def command(**given: Any) -> None:
            rest = {name: given.pop(name) for name in besides}
            function(_settings(form, given), **rest)

        for name, kind in besides.items():
            options[name] = own[name].replace(kind=_KEYWORD, annotation=kind)
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__module__ = function.__module__
        command.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
        command.__annotations__ = {o.name: o.annotation for o in options.values()}
        return command

    return decorate


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _fields(form: type[Form]) -> dict[str, FieldInfo]:
    return {name: form.model_fields[name] for name in form.fields_in_order()}


def _options(name: str, field: FieldInfo) -> list[inspect.Parameter]:
    """Return what a command takes for a field: one option, or one for each part of a list."""
    inner = _many_of(field)
    if inner is not None and issubclass(inner, Form):
        # Several forms: each of their fields once for each of them, in the same order.
        return [
            _option(part, list[_plain(of_part)], of_part, "once for each")  # type: ignore[misc]
            for part, of_part in _fields(inner).items()
        ]
    if inner is not None:
        return [_option(name, list[str], field, "give it several times")]
    if _is_form(_bare(field.annotation)):
        return [_option(name, list[str], field, "such as person=UserId")]
    return [_option(name, _plain(field), field)]


def _option(name: str, kind: Any, field: FieldInfo, how: str = "") -> inspect.Parameter:
    words = (field.description or "").rstrip(".") + (f", {how}" if how else "")
    extra = field.json_schema_extra
    shown = extra.get("option") if isinstance(extra, Mapping) else None
    names = [str(shown)] if shown else []
    if kind is bool and not field.default:
        names = [f"--{name.replace('_', '-')}"]  # there is nothing to switch off
    help_text = f"{words}{_in_brackets(field)}."
    metavar = "<path>" if _bare(field.annotation) is Path else None
    annotation = Annotated[kind | None, typer.Option(*names, help=help_text, metavar=metavar)]
    return inspect.Parameter(name, _KEYWORD, default=None, annotation=annotation)


def _in_brackets(field: FieldInfo) -> str:
    """Say what may be given, and what holds if nothing is."""
    kind, parts = _bare(field.annotation), []
    if get_origin(kind) is Literal:
        parts.append("one of " + ", ".join(map(str, get_args(kind))))
    parts += _limits(field)
    default = field.get_default(call_default_factory=True, validated_data={})
    if field.is_required():
        parts.append("required")
    elif isinstance(default, tuple):
        parts.append(f"default: {', '.join(map(str, default))}")
    elif default is not None and kind is not bool and not isinstance(default, Form):
        parts.append(f"default: {default:g}" if kind is float else f"default: {default}")
    return f" ({'; '.join(parts)})" if parts else ""


def _limits(field: FieldInfo) -> list[str]:
    found = []
    for limit in _metadata(field):
        match limit:
            case annotated_types.Ge():
                found.append(f"at least {limit.ge:g}")
            case annotated_types.Gt():
                found.append(f"above {limit.gt:g}")
            case annotated_types.Le():
                found.append(f"at most {limit.le:g}")
            case annotated_types.Lt():
                found.append(f"below {limit.lt:g}")
    return found


def _metadata(field: FieldInfo) -> list[Any]:
    """Return a field's limits, those of an optional type's inside included."""
    inside = [
        limit
        for part in get_args(field.annotation)
        if get_origin(part) is Annotated
        for info in get_args(part)[1:]
        for limit in (info.metadata if isinstance(info, FieldInfo) else [info])
    ]
    return [*field.metadata, *inside]


def _bare(kind: Any) -> Any:
    """Return a type without None and without what is noted on it."""
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (part for part in get_args(kind) if part is not type(None))
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _plain(field: FieldInfo) -> Any:
    kind = _bare(field.annotation)
    # The form judges which words there are, and which paths: s3://log is none.
    return kind if kind in _SCALARS else str


def _many_of(field: FieldInfo) -> type | None:
    kind = _bare(field.annotation)
    if get_origin(kind) is not tuple:
        return None
    inner = get_args(kind)[0]
    return inner if isinstance(inner, type) else str


def _is_form(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Form)


def _settings(form: type[Form], given: dict[str, Any]) -> dict[str, Any]:
    """Put together what the command line and its file say, as the form takes it."""
    config, columns = given.pop("config"), given.pop("columns", None) or []
    said = {name: value for name, value in given.items() if value is not None}
    for name, field in form.model_fields.items():
        inner = _many_of(field)
        if inner is not None and issubclass(inner, Form):
            parts = {part: said.pop(part) for part in inner.model_fields if part in said}
            if parts:
                said[name] = _zipped(inner, parts)
    return read_settings(config, said, columns)


def _zipped(form: type[Form], parts: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Put together what is said of each of several; what is said once is said of all."""
    n = max(len(values) for values in parts.values())
    names = " and ".join(f"--{name.replace('_', '-')}" for name in form.model_fields)
    for name, values in parts.items():
        is_optional = not form.model_fields[name].is_required()
        require(
            len(values) == n or (is_optional and len(values) == 1),
            f"{names} must be given equally often",
            f"{len(values)} times --{name.replace('_', '-')}, and {n} times another",
            "give as many of each, in the same order",
        )
    filled = {name: values * n if len(values) == 1 else values for name, values in parts.items()}
    return [{name: values[place] for name, values in filled.items()} for place in range(n)]
