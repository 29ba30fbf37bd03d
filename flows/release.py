"""A release of the head of a search log (BLENDER).

Its steps, top to bottom, are in `tasks/products/head_list/steps.py`.
"""

from flows.walking.list_sign_off import wait_for_list_sign_off
from flows.walking.walk import walk
from tasks.orchestration.reasons import form_flow
from tasks.products.head_list import HEAD_LIST, THE_LIST
from tasks.products.head_list.request import ReleaseRequest
from tasks.release.outcome import Outcome


@form_flow
def release(request: ReleaseRequest) -> Outcome:
    """Publish the head of a search log; run again, it returns the same release for free."""
    return walk(HEAD_LIST, request, {THE_LIST: wait_for_list_sign_off})
