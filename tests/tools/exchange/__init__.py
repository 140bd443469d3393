"""Messages from one process to another while either is killed: ``python -m tests.tools.exchange``.

One end puts numbers, the other one receives them reliably, over a bounded queue. Again and again one of them
is killed by SIGKILL wherever it is, and started anew. What came is counted at the end: no number may be
missing or out of order, and none may come again but what was in flight at a kill.

How a dead holder's role comes free is not cut short: the end that is started anew calls ``repair``, as a user
would, until it leaves nothing. That takes the five seconds between two looks, and the first of them counts
only when the server has been up for a minute. ``force`` is for those who know that the holder is dead, as the
run does.
"""

from .run import Exchange, Findings, exchanged
from .verdict import judged

__all__ = ["Exchange", "Findings", "exchanged", "judged"]
