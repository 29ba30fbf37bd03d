"""The columns of the published list and of its queries; checking a release needs no more."""

import pyarrow as pa

_FIELDS = {
    "rank": pa.int64(),
    "rank_low": pa.int64(),
    "rank_high": pa.int64(),
    "query": pa.string(),
    "url": pa.string(),
    "probability": pa.float64(),
    "ci_low": pa.float64(),
    "ci_high": pa.float64(),
}
HEAD_LIST = pa.schema(_FIELDS)
TRENDS = pa.schema({name: kind for name, kind in _FIELDS.items() if name != "url"})
# Of a week of a series, since the week before; a number that is not known is missing.
CHANGES = pa.schema(
    {
        "change": pa.string(),
        "query": pa.string(),
        "probability": pa.float64(),
        "previous": pa.float64(),
        "ratio_low": pa.float64(),
        "ratio_high": pa.float64(),
    }
)
