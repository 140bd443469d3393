"""A suite that judges Redis servers and queue clients by the documents they follow.

Plain functions that take a target; the command line and pytest are two ways to call them.
"""

from .clauses import CLAUSES, SUITES, Clause
from .environment import Client, Environment, Failure, Judged
from .runner import Outcome, judge, run
from .targets import Address, NoRealRedisError, NotInstalledError, Target, real_redis, target_named

__all__ = [
    "CLAUSES",
    "SUITES",
    "Address",
    "Clause",
    "Client",
    "Environment",
    "Failure",
    "Judged",
    "NoRealRedisError",
    "NotInstalledError",
    "Outcome",
    "Target",
    "judge",
    "real_redis",
    "run",
    "target_named",
]
