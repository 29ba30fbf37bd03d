"""The kinds of items that a histogram of a search log counts (ZEAL 2.1)."""

KEYWORDS, QUERIES, PAIRS, CLICKS = "keywords", "queries", "pairs", "clicks"
ITEM_KINDS = (KEYWORDS, QUERIES, PAIRS, CLICKS)
# What the texts of an item are, and what its file calls them.
ITEM_COLUMNS = {
    KEYWORDS: ("keyword",),
    QUERIES: ("query",),
    PAIRS: ("query", "next_query"),
    CLICKS: ("query", "url"),
}
