"""Small logs with a popular head, and with secrets that must never leave the private zone."""

from pathlib import Path

# Rare texts, each of one person: a query, a url, a person's id, and parts of rejected rows.
SECRETS = (
    "xyzzy plover diagnosis",
    "http://secret-clinic.example",
    "person-7f3a-secret",
    "rejected secret query",
    "broken secret line",
)
HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
POPULAR = (("google", "http://google.com"), ("weather", "http://weather.com"))
# As popular as these, but never to be published.
BLOCKED = ("never publish this", "http://somewhere.example")


def write_searches(path: Path, n_people: int, *blocked: tuple[str, str]) -> None:
    """Two thirds of the people search for the head; the secrets are among the others.

    These click on nothing, but for the secrets: a thousand records of one person each would be
    named by chance in one of a hundred releases.
    """
    rows, head = [HEADER], POPULAR + blocked
    for person in range(n_people):
        query, url = head[person // 3 % len(head)] if person % 3 else (f"rare {person}", "")
        rows.append(f"{person}\t{query}\t2026-11-10 10:00:00\t1\t{url}")
    rows.append(f"{SECRETS[2]}\t{SECRETS[0]}\t2026-11-10 10:00:00\t1\t{SECRETS[1]}")
    rows.append(f"{SECRETS[2]}\t{SECRETS[3]}\tnot a time\t1\thttp://x.org")
    rows.append(f"{SECRETS[2]}\t{SECRETS[4]}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
