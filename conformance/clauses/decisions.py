"""What was decided where the documents of the pressure protocol are silent or disagree.

0.15 wins over 0.1, and the prose wins over the reference pseudocode.
"""

from __future__ import annotations

from typing import Final

from .model import Clause

__all__ = ["DECISIONS"]


def decided(id_: str, place: str, text: str, *, needs: tuple[str, ...] = ()) -> Clause:
    return Clause(id_, ("decisions",), place, "decided", text, needs)


RECEIVE: Final = ("list-move", "our-client")

DECISIONS: Final = (
    decided("decided.producer-is-producer", "prose of Queues swaps two keys", ":producer names the producer and :consumer the consumer."),
    decided("decided.stats-names", "prose against pseudocode", "The counters are under :stats:."),
    decided("decided.one-token", "pseudocode of 0.1 leaves two", "not_full never has more than one element after an operation."),
    decided("decided.role-back-on-error", "pseudocode keeps the role", "The role goes back on every way out, errors included."),
    decided("decided.drains-to-bound", "0.1 against 0.15", "An over-filled queue takes no value before it has drained to its bound."),
    decided("decided.close-twice", "Close of a closed queue 'is an error'", "A second Close raises QueueClosedError and gives the role back."),
    decided("decided.deleted-meanwhile", "operations that wait while Delete runs", "Put, Get and Close that find the bound gone raise QueueDoesNotExistError, and leave no key."),
    decided("decided.role-wait-ends", "a role list that Delete removes", "A client that waits for a role of a queue that is deleted does not wait for ever."),
    decided("decided.overfill-takes-token", "over-filling 'may' skip not_full", "An over-filling Put takes the token if there is one, so that later Puts respect the bound."),
    decided("decided.bound-and-one", "Get compares, two Puts run, Get refills", "While Gets and Puts cross, a queue whose clients send plain commands holds at most one more than its bound."),
    decided("decided.one-deadline", "'an error after some fixed timeout'", "A timeout is one deadline for the whole operation, and ends it with the error of what was waited for."),
    decided("decided.empty-is-an-error", "pseudocode returns nil", "A Get without waiting from an open empty queue raises QueueEmptyError."),
    decided("decided.nothing-read", "pseudocode refills though nothing was read", "A Get that reads nothing touches nothing but the role."),
    decided("decided.closed-first", "prose against pseudocode", "A Put to a closed queue fails at once, though the role is held."),
    decided("decided.closed-again", "the same", "A Put that waited for its role looks again whether the queue was closed."),
    decided("decided.delete-interrupted", "Delete interrupted half-way", "A Delete that gives up raises QueueInUseError naming the holder; running it again finishes it."),
    decided("decided.create-atomic", "Create during Delete leaves a stuck queue", "Create is one step, refused while any of the twelve keys is there."),
    decided("decided.create-reserved", "names that collide", "A name that is another queue's name and one of the protocol's suffixes is refused."),
    decided("decided.foreign-tokens", "BRPOPLPUSH onto not_full", "Any value and any number of elements that others leave in not_full is accepted."),
    decided("decided.wait-closed", "'allow clients to block waiting for a queue to close'", "wait_closed returns when the queue is closed, and leaves both marks."),
    decided("decided.wait-closed-times-out", "the same", "wait_closed tells that its time is over."),
    decided("decided.mark-goes-back", "a woken Get eats a mark", "A Get that was woken by a close leaves both marks in place."),
    decided("decided.item-before-close", "value and close at the same moment", "A value that is there when the queue closes is never lost."),
    decided("decided.bound-is-a-number", "the bound", "A bound that is not an integer of 0 or more is a ValueError, and no key is written."),
    decided("decided.name-bytes", "names", "A name may be any bytes, empty too."),
    decided("decided.token-back-on-error", "an error after the token was popped", "A Put that fails with the token in hand puts it back."),
    decided("decided.lost-connection", "'must fail and report'", "A connection lost in the middle raises OutcomeUnknownError, and nothing is sent again."),
    decided("decided.arguments-win", "'configurable at queue creation'", "Arguments win over the environment, and REDIS_URL over the variables for host, port and database."),
    decided("decided.kubernetes-port", "environment variables", "REDIS_PORT may be of the form tcp://host:port.", needs=("no-password",)),
    decided("decided.repair-forced", "a client dies holding a role", "A forced repair frees what is taken, once."),
    decided("decided.repair-spares", "a client dies holding a role", "Without force a role stays with a holder that may be alive."),
    decided("decided.textbook", "slips of the pseudocode", "Our client and one written from 0.15 alone, its pseudocode corrected where it cannot run, share a queue, at either end or at both."),
    decided("decided.textbook-first", "slips of the pseudocode of 0.1", "So do ours and one written from 0.1, which does not over-fill, and whose Get always makes room."),
    decided("decided.textbook-moves", "BRPOPLPUSH onto not_full", "So do ours and one whose Get is a BRPOPLPUSH onto not_full."),
    decided("decided.reliable-done", "room for 'additional data reliability'", "A received message leaves the server when its block ends well; the role is held, and not_full and counters stay, until then.", needs=RECEIVE),
    decided("decided.reliable-put-back", "the same", "A received message goes back to the front when its block ends by an error.", needs=RECEIVE),
    decided("decided.reliable-orphans", "the same", "What a dead consumer received comes first, with a repair or without.", needs=RECEIVE),
    decided("decided.reliable-repaired", "the same", "A repair that frees the role puts the message back, and its receiver is told.", needs=RECEIVE),
    decided("decided.reliable-close", "the same", "A reliable get that waits hears of a close, and leaves both marks.", needs=RECEIVE),
    decided("decided.reliable-unseen", "the same", "Other clients see a Get that takes long, and a Delete takes all along.", needs=RECEIVE),
    decided("decided.many", "a run of Puts or Gets", "Many values at once are one Put or Get after the other, by one producer or consumer.", needs=("list-count",)),
    decided("decided.standard-errors", "names of errors", "Full and empty are the standard queue's errors too, and all errors share one base.", needs=("our-client",)),
)  # fmt: skip
