"""Homes are changed in memory, where there is room."""

from tests.release.conftest import fast_folder, root  # noqa: F401 - fixtures
