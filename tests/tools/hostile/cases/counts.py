"""Numbers where a command takes one: at the ends of 64 bits, beyond them, and no numbers at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.wire import encode

from ..case import Case, commands

__all__ = ["COUNTS"]

NUMBERS: Final = {
    "2^63 - 1": "9223372036854775807",
    "-2^63": "-9223372036854775808",
    "2^63": "9223372036854775808",
    "2^62": "4611686018427387904",
    "2^32": "4294967296",
    "an exponent": "1e3",
    "nothing": "",
    "a NUL behind a digit": "1\x00",
}

GIVEN: Final = commands(
    "RPUSH list a b c a b c | SET text abcdef | SET number 7 | SET top 9223372036854775807"
    " | SET bottom -9223372036854775808"
)
"""What is there before the command."""

PLACES: Final = {
    "LRANGE's start": "LRANGE list {} -1",
    "LRANGE's end": "LRANGE list 0 {}",
    "LTRIM's start": "LTRIM list {} -1",
    "LTRIM's end": "LTRIM list 0 {}",
    "LINDEX": "LINDEX list {}",
    "LSET": "LSET list {} x",
    "LREM's count": "LREM list {} a",
    "LPOP's count": "LPOP list {}",
    "RPOP's count": "RPOP list {}",
    "LPOP's count of no list": "LPOP empty {}",
    "LPOS's RANK": "LPOS list a RANK {}",
    "LPOS's COUNT": "LPOS list a COUNT {}",
    "LPOS's MAXLEN": "LPOS list a MAXLEN {}",
    "LMPOP's number of keys": "LMPOP {} list LEFT",
    "LMPOP's COUNT": "LMPOP 1 list RIGHT COUNT {}",
    "BLMPOP's timeout": "BLMPOP {} 1 empty LEFT",
    "BLMPOP's number of keys": "BLMPOP 0 {} list LEFT",
    "BLPOP's timeout": "BLPOP empty {}",
    "BLPOP's timeout where it need not wait": "BLPOP list {}",
    "BLMOVE's timeout": "BLMOVE empty other LEFT RIGHT {}",
    "BRPOPLPUSH's timeout": "BRPOPLPUSH empty other {}",
    "GETRANGE's start": "GETRANGE text {} -1",
    "GETRANGE's end": "GETRANGE text 0 {}",
    "SUBSTR's start": "SUBSTR text {} -1",
    "SETRANGE's offset": "SETRANGE text {} x",
    "SETRANGE's offset, nothing to set": "SETRANGE empty {} ",
    "INCRBY": "INCRBY number {}",
    "INCRBY beyond the top": "INCRBY top {}",
    "DECRBY": "DECRBY number {}",
    "DECRBY beyond the bottom": "DECRBY bottom {}",
    "INCRBYFLOAT": "INCRBYFLOAT number {}",
    "SETBIT's offset": "SETBIT text {} 1",
    "SETBIT's bit": "SETBIT text 0 {}",
    "GETBIT's offset": "GETBIT text {}",
    "BITCOUNT's start": "BITCOUNT text {} -1",
    "BITCOUNT's end in bits": "BITCOUNT text 0 {} BIT",
    "BITPOS's bit": "BITPOS text {}",
    "BITPOS's start": "BITPOS text 1 {}",
    "BITPOS's end": "BITPOS text 1 0 {}",
    "BITFIELD GET's offset": "BITFIELD text GET u8 {}",
    "BITFIELD GET's counted offset": "BITFIELD text GET u8 #{}",
    "BITFIELD GET's width": "BITFIELD text GET u{} 0",
    "BITFIELD SET's value": "BITFIELD text SET i64 0 {}",
    "BITFIELD INCRBY's step, failing": "BITFIELD text OVERFLOW FAIL INCRBY i64 0 {}",
    "BITFIELD INCRBY's step, wrapping": "BITFIELD text INCRBY i64 0 {}",
    "LCS's MINMATCHLEN": "LCS text number IDX MINMATCHLEN {}",
    "EXPIRE": "EXPIRE text {}",
    "PEXPIRE": "PEXPIRE text {}",
    "EXPIREAT": "EXPIREAT text {}",
    "PEXPIREAT": "PEXPIREAT text {}",
    "SET EX": "SET text x EX {}",
    "SET PX": "SET text x PX {}",
    "SET EXAT": "SET text x EXAT {}",
    "SET PXAT": "SET text x PXAT {}",
    "SETEX": "SETEX text {} x",
    "PSETEX": "PSETEX text {} x",
    "GETEX EX": "GETEX text EX {}",
    "GETEX PXAT": "GETEX text PXAT {}",
    "SELECT": "SELECT {}",
    "SWAPDB": "SWAPDB 0 {}",
    "MOVE": "MOVE text {}",
    "COPY DB": "COPY text other DB {}",
    "SCAN's cursor": "SCAN {}",
    "SCAN's COUNT": "SCAN 0 COUNT {} MATCH t[e]xt",
    "SORT LIMIT's offset": "SORT list LIMIT {} 2 ALPHA",
    "SORT LIMIT's count": "SORT list LIMIT 1 {} ALPHA",
    "RESTORE's TTL": "RESTORE other {} junk",
    "HELLO's version": "HELLO {}",
    "CLIENT KILL's id": "CLIENT KILL ID {}",
    "CLIENT KILL's address": "CLIENT KILL {}",
    "CLIENT UNBLOCK's id": "CLIENT UNBLOCK {}",
    "CLIENT LIST's id": "CLIENT LIST ID {}",
    "CLIENT REPLY": "CLIENT REPLY {}",
    "WAIT's replicas": "WAIT {} 0",
    "WAIT's timeout": "WAIT 0 {}",
    "SLOWLOG GET": "SLOWLOG GET {}",
    "CONFIG SET of a memory size": "CONFIG SET proto-max-bulk-len {}",
    "COMMAND GETKEYS' number of keys": "COMMAND GETKEYS LMPOP {} list LEFT",
}
"""Where the number goes, by name."""

UNDO: Final = ("CONFIG SET proto-max-bulk-len 536870912",)

REMARKS: Final = {
    "SLOWLOG GET": "what was slow depends on the machine",
    "SCAN's cursor": "cursors are each server's own",
}


def each() -> Iterator[Case]:
    for place, command in PLACES.items():
        for name, number in NUMBERS.items():
            words = [word.replace("{}", number) for word in command.split(" ")]
            yield Case(
                f"number: {place}: {name}",
                (GIVEN + encode(*words) + commands("GET text | LRANGE list 0 -1"),),
                after=UNDO if command.startswith("CONFIG") else (),
                may_differ=REMARKS.get(place, ""),
                in_order=place != "SCAN's COUNT",
            )


COUNTS: Final = list(each())
