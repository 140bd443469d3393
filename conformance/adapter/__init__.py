"""Any client of pressure queues, in any language, judged by the same clauses.

``python -m conformance --adapter "COMMAND ..."`` starts the command for each client that a check wants. The
process reads requests from its standard input and writes replies to its output, each a line of JSON::

    {"id": 1, "op": "open", "args": {"name": "jobs", "url": "redis://127.0.0.1:6379/0", "prefix": "p"}}
    {"id": 1, "result": null}
    {"id": 2, "op": "put", "args": {"value": "hello", "timeout": 0.05}}
    {"id": 2, "error": "QueueFullError", "text": "no room in jobs"}
    {"id": 3, "op": "repair", "args": {}}
    {"id": 3, "unsupported": true}

* A process is one client of one queue. The first request is ``open``, which remembers where the queue is and
  sends nothing to the server; where that is, every later request may fail.
* Requests are answered one after the other; one that waits keeps the process. Who wants something of a client
  that waits gets a second process that opens the same queue.
* Names, prefixes and values are bytes, a character for each: U+0000 to U+00FF (latin-1).
* ``timeout`` is in seconds and is one deadline for the whole operation; without it, wait for ever.
* A reply has the ``id`` of its request, and ``result``, or ``error`` with the name of an error and, in
  ``text``, words for people, or ``unsupported``. What is not supported is skipped, and never passed.
* At the end of the input the process hangs up and exits. It may be killed at any time.
* It inherits the environment, from which some clauses want the connection to be read. What it writes to its
  standard error is shown if it dies.

====================================================== ====================================================
request                                                result
====================================================== ====================================================
``open name, url, prefix``                             null; ``host``, ``port``, ``db`` may be there for
                                                       ``url``, or nothing, and so may ``prefix``
``create``, with ``bound`` perhaps                     null; without, the bound is 0
``exists``, ``closed``                                 true or false
``length``                                             a number
``put value``, with ``timeout``, ``overfill`` perhaps  null
``put_nowait value``                                   null
``get``, with ``timeout`` perhaps                      the value
``get_nowait``                                         the value
``close``                                              null
``delete``, with ``timeout`` perhaps                   null
``wait_closed``, with ``timeout`` perhaps              true when it is closed, false when the time is over
``repair``, with ``force`` perhaps                     null
``put_many values``                                    null
``get_many count``                                     the values that are there, up to so many
====================================================== ====================================================

The errors are the protocol's: ``QueueDoesNotExistError``, ``QueueAlreadyExistsError``, ``QueueClosedError``,
``QueueInUseError``, ``QueueFullError``, ``QueueEmptyError``. Beside them are ``ConnectionFailedError``
(nothing was sent), ``OutcomeUnknownError`` (the connection was lost in the middle), ``ServerReplyError`` (the
server answered by an error) and ``ValueError`` (an argument cannot be).

``python -m conformance.adapter`` is such a process around ``pressure.Queue``, to read and to compare with.
To add a request, add a row to ``OPERATIONS`` in ``conformance.adapter.client``.
"""

from .client import Adapter

__all__ = ["Adapter"]
