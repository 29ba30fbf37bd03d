"""Addresses of files in object stores, which stand where a path may stand.

An address is shown wherever a path is: in run records, ledgers, messages and on Prefect's pages. So
nothing in it may open a store. Who may read it is known from the environment (docs/spark.md).
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(.*)", flags=re.DOTALL)
_LIKE_ONE = re.compile(
    r"""[\s"'<]*(?:[A-Za-z][A-Za-z0-9+.-]*://|[a-z0-9+]+:/[^\s]*@|(s3a?|gs|abfss?|hdfs):)"""
)
# What may stand behind //: a bucket, a container of an account, or a machine.
_OWNERS = {
    "s3": re.compile(r"[^@:]+"),
    "gs": re.compile(r"[^@:]+"),
    "abfss": re.compile(r"[^@:]+(@[^@:]+)?"),
    "hdfs": re.compile(r"[^@:]+(:[0-9]+)?"),
}
_SHOWN_AS_IT_IS = "/!$&'()*,:;=@+[]~ "


@dataclass(frozen=True, slots=True)
class Address:
    """A file or a folder in a store; its key is what the store calls it, nothing is encoded."""

    scheme: str
    owner: str
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read an address; what is refused is not quoted, because it may open a store."""
        found = _URI.fullmatch(text)
        scheme = found[1].lower() if found else ""
        if found is None or scheme not in _OWNERS:
            raise ValueError(
                "is neither a path nor an address in a store that is known: "
                f"{', '.join(f'{name}://' for name in _OWNERS)}"
            )
        if found[4] or not _OWNERS[scheme].fullmatch(found[2]):
            raise ValueError(
                "is an address with a user, a password or settings in it, or without a bucket. "
                "Addresses are written into ledgers and run records: who may read a store is known "
                "from the environment (docs/spark.md). A ? or # in a name is written %3F or %23"
            )
        try:
            key = unquote(found[3].removeprefix("/").removesuffix("/"), errors="strict")
        except UnicodeDecodeError:
            raise ValueError("is an address with a name that is not UTF-8; rename it") from None
        if (key and "" in key.split("/")) or "\0" in key:
            raise ValueError("is an address with an empty name or a NUL in it; rename it")
        return cls(scheme, found[2], key)

    @property
    def name(self) -> str:
        """The last part."""
        return self.key.rpartition("/")[2] or self.owner

    @property
    def parent(self) -> "Address":
        """The folder that it is in."""
        return Address(self.scheme, self.owner, self.key.rpartition("/")[0])

    def __str__(self) -> str:
        shown = quote(self.key, safe=_SHOWN_AS_IT_IS)
        return f"{self.scheme}://{self.owner}" + (f"/{shown}" if shown else "")


Place = Path | Address


def is_address(text: str) -> bool:
    """Whether a text is to be an address, be it a wrong one; no path looks like that.

    One that was typed with a space or a quote in front, or with too few strokes, is one, too: a
    path would be quoted in messages, with whatever opens the store.
    """
    return _LIKE_ONE.match(text) is not None


def in_a_store(place: Place | None) -> bool:
    """Whether it is not on this machine."""
    return isinstance(place, Address)
