"""What reading commands spare themselves is not missed."""

import subprocess
import sys

from tests.patience import PATIENCE
from tests.repository import ROOT

SPARED = """
import sys
from flows.console import spared
spared.is_own_process = True
spared.spare_wrappers()
from scipy import special
import scipy.special._ufuncs as compiled
names = {"ndtr", "log_ndtr", "ndtri", "chdtrc", "erfcx"}
spared_names = {name: getattr(special, name) for name in names}
print("numpy.f2py" in sys.modules, all(f is getattr(compiled, n) for n, f in spared_names.items()))
"""
COMPLETE = """
from scipy import stats  # asks for what is not compiled, which completes the package
print("numpy.f2py" in sys.modules, float(special.logsumexp([0.0, 0.0])) > 0)
print("ndtr" in special.__all__)
print(all(getattr(special, name) is function for name, function in spared_names.items()))
"""


def said_by(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
        check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_special_functions_are_those_of_scipy_without_what_wraps_them():
    assert said_by(SPARED) == ["False", "True"]


def test_the_rest_of_scipy_special_is_there_for_whoever_asks():
    assert said_by(SPARED + COMPLETE) == ["False", "True", "True", "True", "True", "True"]


def test_nothing_is_spared_in_a_process_that_goes_on():
    code = SPARED.replace("is_own_process = True", "is_own_process = False")
    assert said_by(code) == ["True", "True"]
