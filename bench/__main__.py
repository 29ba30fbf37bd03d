"""`make bench`: every speed promise as a ratio in one run; exits 1 if one is broken."""

import sys

from bench import core, generate, ledger, mean, peers, release, scale, series, zealous

MODULES = {
    "core": core, "generate": generate, "ledger": ledger, "mean": mean, "peers": peers,
    "release": release, "scale": scale, "series": series, "zealous": zealous,
}  # fmt: skip


def main(names: list[str]) -> int:
    """Measure the named modules, or all of them."""
    is_kept = True
    for name in names or MODULES:
        print(f"{'measured':>9}  {'limit':>6}  what ({name})", flush=True)
        for label, ratio, limit in MODULES[name].measure():
            is_kept &= ratio <= limit
            verdict = "" if ratio <= limit else "  NOT KEPT"
            print(f"{ratio:8.2f}x  {limit:5.1f}x  {label}{verdict}", flush=True)
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
