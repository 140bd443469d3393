"""How a client of pressure queues in any language is judged: as a program that reads and writes lines.

``python -m conformance --adapter "COMMAND ..."`` starts the command for each client that a check wants. The
process reads requests from its standard input and writes replies to its output, each a line of JSON::

    {"id": 1, "op": "open", "args": {"name": "jobs", "url": "redis://127.0.0.1:6379/0", "prefix": "p"}}
    {"id": 1, "result": null}
    {"id": 2, "op": "put", "args": {"value": "hello", "timeout": 0.05}}
    {"id": 2, "error": "QueueFullError", "text": "no room in jobs"}
    {"id": 3, "op": "repair", "args": {}}
    {"id": 3, "unsupported": true}

* A process is one client of one queue. The first request is ``open``: the process remembers where the queue
  is, and sends nothing to the server yet. If the server cannot be reached, later requests fail, not ``open``.
* A process answers its requests one after the other. While a request waits, for example for a value, no other
  request comes; a check that needs another client starts a second process, which opens the same queue.
* Names, prefixes and values are bytes, written as a character for each: U+0000 to U+00FF (latin-1).
* ``timeout`` is in seconds, and one deadline for the whole operation. Without it the operation waits forever.
* A reply has the ``id`` of its request, and one of three: ``result``; ``error`` with the name of an error,
  and ``text`` with a message for people; or ``unsupported``. A clause that needs the request is
  then ``not asked``. With an error of ``put_many``, ``done`` is the number of values that were certainly put.
* At the end of its input the process closes its connection and exits. It may be killed at any time.
* The process inherits the environment variables; some clauses ask it to find the server by them.
* A run begins with one trial: a process is asked to ``open``. Without a ``result`` in ten seconds the run
  ends with exit status 2. If a process dies or does not answer, the end of its standard error is shown.

====================================================== ====================================================
request                                                result
====================================================== ====================================================
``open name, url, prefix``                             null; there may be ``host``, ``port`` and ``db`` in
                                                       place of ``url``; what is missing is looked up in the
                                                       environment, as the documents say
``create``, with ``bound`` perhaps                     null; without ``bound`` the queue has none
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
``get_many count``                                     values that are there, ``count`` at most
====================================================== ====================================================

The errors are the protocol's: ``QueueDoesNotExistError``, ``QueueAlreadyExistsError``, ``QueueClosedError``,
``QueueInUseError``, ``QueueFullError``, ``QueueEmptyError``; and ``ConnectionFailedError`` (nothing was
sent), ``OutcomeUnknownError`` (the connection was lost after something was sent), ``ServerReplyError`` (the
server answered with an error) and ``ValueError`` (an argument has a value that is not allowed).

``python -m conformance.clients.adapter`` is such a program for ``pressure.Queue``: read it before you write
your own. To add a request, add a row to ``OPERATIONS`` in ``conformance.clients.adapter.client``.
"""

from .client import Adapter

__all__ = ["Adapter"]
