"""`make bench`: every speed promise as a ratio in one run; exits 1 if one is broken."""

import sys

from bench import core, generate


def main() -> int:
    print(f"{'measured':>9}  {'limit':>6}  what")
    is_kept = True
    for module in (core, generate):
        for label, ratio, limit in module.measure():
            is_kept &= ratio <= limit
            print(f"{ratio:8.2f}x  {limit:5.1f}x  {label}{'' if ratio <= limit else '  TOO SLOW'}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
