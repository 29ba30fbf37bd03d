"""JPC19 figure 9 and SEC17 figure 9, as printed: one run each, AOL, M = 50.

Columns: true share, published, opt-in, client, client summed over urls.
"""

from tasks.studies.model import Published

QUERY_NAMES = {
    "*": "* (all others)",
    "1": "google",
    "2": "yahoo",
    "3": "google.com",
    "4": "myspace.com",
    "5": "mapquest",
    "6": "yahoo.com",
    "7": "www.google.com",
    "8": "myspace",
    "9": "ebay",
}
_COLUMNS = ("p_true", "p_blended", "p_optin", "p_clients", "p_clients_summed")
_JPC19 = {
    "*": (0.9121, 0.9144, 0.9148, 0.9143, 0.9143),
    "1": (0.0211, 0.0211, 0.0220, 0.0210, 0.0210),
    "2": (0.0067, 0.0081, 0.0061, 0.0088, 0.0088),
    "3": (0.0066, 0.0075, 0.0083, 0.0073, 0.0073),
    "4": (0.0055, 0.0046, 0.0034, 0.0052, 0.0052),
    "5": (0.0055, 0.0062, 0.0051, 0.0066, 0.0066),
    "6": (0.0048, 0.0047, 0.0057, 0.0043, 0.0043),
    "7": (0.0044, 0.0038, 0.0043, 0.0035, 0.0035),
    "8": (0.0034, 0.0030, 0.0031, 0.0030, 0.0030),
    "9": (0.0030, 0.0030, 0.0030, 0.0029, 0.0029),
}
_SEC17 = {
    "*": (0.9108, 0.9103, 0.9199, 0.9100, 0.1468),
    "1": (0.0213, 0.0216, 0.0213, 0.0217, 0.0216),
    "2": (0.0067, 0.0070, 0.0046, 0.0073, 0.0325),
    "3": (0.0067, 0.0056, 0.0023, 0.0061, 0.0194),
    "4": (0.0057, 0.0052, 0.0022, 0.0057, 0.0258),
    "5": (0.0054, 0.0051, 0.0062, 0.0053, 0.0192),
    "6": (0.0043, 0.0043, 0.0021, 0.0048, 0.0192),
    "7": (0.0034, 0.0004, 0.0004, 0.0032, 0.0098),
    "8": (0.0033, 0.0034, 0.0042, 0.0035, 0.0255),
    "9": (0.0028, 0.0026, 0.0028, 0.0028, 0.0254),
}
FIGURE_9 = tuple(
    Published("top", epsilon, column, value, source, part)
    for epsilon, source, table in (
        (3, "JPC19 figure 9", _JPC19),
        (4, "SEC17 figure 9", _SEC17),
    )
    for part, values in table.items()
    for column, value in zip(_COLUMNS, values, strict=True)
)
