"""The same checks again, of queues on the commands of RedisMQ."""

from __future__ import annotations

from typing import Final

from ...judging.capabilities import has_no_reliable_queues
from ...judging.environment import Environment
from ..registry import CHECKS, Check
from .recovering import is_recovered_by_one

STREAMS_ONLY: Final = {
    "reliable.groups": "a queue of the module has no groups",
}
"""The clauses that are not asked of queues on the commands of RedisMQ, each with the reason."""


def on_the_module(judge: Check) -> Check:
    """The same, on the commands of RedisMQ where the server has them: what carries a queue makes no difference."""

    def judged(env: Environment) -> None:
        if not has_no_reliable_queues(env):
            env.of_kinds["ReliableQueue"] = {"backend": "module"}
            judge(env)

    return judged


for _id, _checks in CHECKS.items():
    if _id.startswith("reliable.") and _id not in STREAMS_ONLY:
        _checks += [on_the_module(each) for each in _checks if each is not is_recovered_by_one]
