"""The groups of all products, as tests name them."""

from tasks.products.head_list import HEAD_LIST
from tasks.products.registry import PRODUCTS

# A single head list's, in the order of their draws.
GROUPS = tuple(name for name, group in HEAD_LIST.groups.items() if not group.is_part)
# What the measurement of each group of any product is called.
FILES = {group.name: group.file for product in PRODUCTS for group in product.groups.values()}
