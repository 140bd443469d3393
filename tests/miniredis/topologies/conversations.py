"""What clients say to the nodes of a cluster: three primaries, 0 to 2, and a replica of each, 3 to 5.

A line begins with the node. ``$1`` is the name of node 1. The hash tag {bar} is slot 5061 of node 0, {foo} is
12182 of node 2, {b} is 3300 of node 0. Each conversation leaves the cluster as it was.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CONVERSATIONS"]

EVAL_READ = "EVAL \"return redis.call('get', KEYS[1])\" 1"

CONVERSATIONS: Final = {
    "what nodes tell": """
        0: CLUSTER NODES
        3: CLUSTER NODES
        0: CLUSTER SLOTS
        4: CLUSTER SLOTS
        0: CLUSTER INFO
        3: CLUSTER INFO
        0: CLUSTER MYID
        0: CLUSTER REPLICAS $1
        0: CLUSTER SLAVES $1
        0: CLUSTER REPLICAS $4
        0: CLUSTER REPLICAS x
        1: CLUSTER COUNT-FAILURE-REPORTS $0
        1: CLUSTER KEYSLOT a{bar}
        3: CONFIG GET replicaof
        0: HELLO 3
        0: CLUSTER SLOTS
    """,
    "redirections": """
        0: SET {bar} v
        1: SET {bar} v
        2: GET {bar}
        3: GET {bar}
        3: SET {bar} v
        1: MGET {bar}1 {bar}2
        1: MGET {bar}1 {foo}
        0: MGET {foo} {bar}
        1: EXISTS {bar}
        1: EVAL "return 1" 1 {bar}
        1: EVAL "return redis.call('get', '{bar}')" 0
        1: EVAL "return redis.pcall('get', '{bar}')" 0
        1: MULTI
        1: PING
        1: GET {bar}
        1: EXEC
        1: BLPOP {bar} 0
        1: XREAD BLOCK 0 STREAMS {bar} $
        1: SSUBSCRIBE {bar}
        1: SPUBLISH {bar} x
        1: SUBSCRIBE x
        1: UNSUBSCRIBE x
        1: PING
        1: KEYS *
        1: DBSIZE
        1: SCAN 0
        0: DEL {bar}
    """,
    "replicas that may be read": f"""
        0: SET {{bar}} v
        0: WAIT 1 0
        3: READONLY
        3: GET {{bar}}
        3: SET {{bar}} w
        3: DEL {{bar}}
        3: MGET {{bar}} {{bar}}2
        3: GET {{foo}}
        3: {EVAL_READ} {{bar}}
        3: EVAL "return redis.call('set', KEYS[1], 'x')" 1 {{bar}}
        3: EVAL "#!lua flags=no-writes\\nreturn redis.call('get', KEYS[1])" 1 {{bar}}
        3: EVAL "#!lua\\nreturn redis.call('get', KEYS[1])" 1 {{bar}}
        3: MULTI
        3: GET {{bar}}
        3: EXEC
        3: MULTI
        3: SET {{bar}} w
        3: EXEC
        3: XREAD BLOCK 1 STREAMS {{bar}}s $
        3: FLUSHALL
        3: READWRITE
        3: GET {{bar}}
        3: SSUBSCRIBE {{bar}}
        0: READONLY
        0: SET {{bar}} w
        4: READONLY
        4: GET {{bar}}
        0: DEL {{bar}}
    """,
    "a slot on its way": """
        0: SET {bar}1 v
        0: CLUSTER SETSLOT 5061 MIGRATING $1
        1: CLUSTER SETSLOT 5061 IMPORTING $0
        0: CLUSTER NODES
        1: CLUSTER NODES
        2: CLUSTER NODES
        0: GET {bar}1
        0: GET {bar}2
        0: SET {bar}2 v
        0: MGET {bar}1 {bar}2
        0: MGET {bar}2 {bar}1
        0: MGET {bar}2 {bar}3
        0: MSET {bar}1 1 {bar}2 2
        0: EVAL "return 1" 1 {bar}2
        0: EVAL "return redis.call('get', '{bar}2')" 1 {bar}1
        0: MULTI
        0: GET {bar}1
        0: GET {bar}2
        0: EXEC
        0: MULTI
        0: GET {bar}1
        0: EXEC
        0: GET {bar}2
        0: BLPOP {bar}2 0
        0: SPUBLISH {bar} x
        1: GET {bar}2
        1: ASKING
        1: GET {bar}2
        1: GET {bar}2
        1: ASKING
        1: PING
        1: GET {bar}2
        1: ASKING
        1: MGET {bar}1 {bar}2
        1: ASKING
        1: MGET {bar}1 {bar}1
        1: ASKING
        1: SET {bar}2 w
        1: ASKING
        1: MGET {bar}1 {bar}2
        1: ASKING
        1: MULTI
        1: GET {bar}2
        1: SET {bar}2 x
        1: EXEC
        1: GET {bar}2
        1: MULTI
        1: ASKING
        1: GET {bar}2
        1: EXEC
        1: DISCARD
        1: ASKING
        1: EVAL "return redis.call('get', KEYS[1])" 1 {bar}2
        1: EVAL "return redis.call('get', '{bar}2')" 0
        1: ASKING
        1: GET {foo}
        1: SPUBLISH {bar} x
        4: GET {bar}2
        0: CLUSTER SETSLOT 5061 STABLE
        1: CLUSTER SETSLOT 5061 STABLE
        0: CLUSTER NODES
        0: GET {bar}2
        0: FLUSHALL
        1: FLUSHALL
    """,
    "a slot gets another node": """
        0: SET {bar}1 v
        0: CLUSTER SETSLOT 5061 NODE $1
        0: DEL {bar}1
        1: CLUSTER SETSLOT 5061 IMPORTING $0
        0: CLUSTER SETSLOT 5061 MIGRATING $1
        1: CLUSTER SETSLOT 5061 NODE $1
        0: CLUSTER SETSLOT 5061 NODE $1
        2: CLUSTER SETSLOT 5061 NODE $1
        0: GET {bar}
        1: GET {bar}
        2: GET {bar}
        1: CLUSTER NODES
        0: CLUSTER SLOTS
        0: CLUSTER SETSLOT 5061 IMPORTING $1
        1: CLUSTER SETSLOT 5061 MIGRATING $0
        0: CLUSTER SETSLOT 5061 NODE $0
        1: CLUSTER SETSLOT 5061 NODE $0
        2: CLUSTER SETSLOT 5061 NODE $0
        1: GET {bar}
        0: CLUSTER NODES
    """,
    "MIGRATE moves keys of a slot that is on its way": """
        0: SET {bar}1 v
        0: SET {bar}2 w PX 100000
        0: RPUSH {bar}3 a b
        0: MIGRATE 127.0.0.1 %1 {bar}1 0 5000
        1: CLUSTER SETSLOT 5061 IMPORTING $0
        0: CLUSTER SETSLOT 5061 MIGRATING $1
        0: MIGRATE 127.0.0.1 %1 {bar}1 0 5000
        0: GET {bar}1
        1: GET {bar}1
        1: ASKING
        1: GET {bar}1
        0: MIGRATE 127.0.0.1 %1 {bar}1 0 5000
        0: MIGRATE 127.0.0.1 %1 {bar}1 0 5000 KEYS {bar}2
        0: MIGRATE 127.0.0.1 %1 "" 0 5000 COPY KEYS {bar}2 {bar}3 {bar}4
        0: MIGRATE 127.0.0.1 %1 "" 0 5000 KEYS {bar}2 {bar}3 {bar}4
        0: MIGRATE 127.0.0.1 %1 "" 0 5000 REPLACE KEYS {bar}2 {bar}3 {bar}4
        0: EXISTS {bar}2
        1: ASKING
        1: LRANGE {bar}3 0 -1
        1: MIGRATE 127.0.0.1 %0 {bar}1 0 5000
        1: MIGRATE 127.0.0.1 %0 {bar}1 1 5000
        3: MIGRATE 127.0.0.1 %1 {bar}1 0 5000
        1: MIGRATE 127.0.0.1 %0 "" 0 5000 KEYS {bar}1 {b}
        1: RESTORE-ASKING {bar}5 0 x
        1: RESTORE {bar}5 0 x
        0: CLUSTER SETSLOT 5061 STABLE
        1: MIGRATE 127.0.0.1 %0 "" 0 5000 KEYS {bar}1 {bar}2 {bar}3
        1: CLUSTER SETSLOT 5061 STABLE
        1: MIGRATE 127.0.0.1 %0 {bar}1 0 5000
        0: DEL {bar}1 {bar}2 {bar}3
    """,
    "mistakes about members": """
        0: CLUSTER MEET
        0: CLUSTER MEET 127.0.0.1
        0: CLUSTER MEET 127.0.0.1 x
        0: CLUSTER MEET 127.0.0.1 7902 x
        0: CLUSTER MEET 127.0.0.1 7902 17902 x
        0: CLUSTER MEET localhost 7902
        0: CLUSTER MEET 127.0.0.1 0
        0: CLUSTER MEET 127.0.0.1 70000
        0: CLUSTER MEET 127.0.0.1 60000
        0: CLUSTER MEET ::1 7902 99999
        0: CLUSTER FORGET
        0: CLUSTER FORGET x
        0: CLUSTER FORGET $0
        3: CLUSTER FORGET $0
        0: CLUSTER RESET x
        0: CLUSTER RESET soft x
        0: SET {bar} v
        0: CLUSTER RESET
        0: CLUSTER RESET HARD
        0: DEL {bar}
        0: CLUSTER SET-CONFIG-EPOCH x
        0: CLUSTER SET-CONFIG-EPOCH -1
        0: CLUSTER SET-CONFIG-EPOCH 4
    """,
    "slots without an owner for one node": """
        0: CLUSTER DELSLOTS 5
        0: CLUSTER DELSLOTS 5
        0: CLUSTER SLOTS
        0: CLUSTER NODES
        0: CLUSTER INFO
        0: GET {460}
        0: GET {bar}
        0: CLUSTER SETSLOT 5 MIGRATING $1
        1: CLUSTER SLOTS
        1: CLUSTER NODES
        1: CLUSTER INFO
        1: GET {460}
        1: CLUSTER ADDSLOTS 5
        3: CLUSTER SLOTS
        3: READONLY
        3: GET {460}
        0: CLUSTER ADDSLOTS 5
        0: GET {460}
        0: CLUSTER SLOTS
        0: CLUSTER DELSLOTSRANGE 100 5460
        0: CLUSTER NODES
        0: CLUSTER FLUSHSLOTS
        0: CLUSTER NODES
        0: CLUSTER INFO
        1: CLUSTER SLOTS
        0: CLUSTER ADDSLOTSRANGE 0 5460
        0: CLUSTER NODES
    """,
    "mistakes": """
        0: CLUSTER SETSLOT 1 MIGRATING x
        0: CLUSTER SETSLOT 6000 MIGRATING $1
        0: CLUSTER SETSLOT 6000 MIGRATING x
        0: CLUSTER SETSLOT 1 MIGRATING $4
        0: CLUSTER SETSLOT 1 IMPORTING $1
        0: CLUSTER SETSLOT 6000 IMPORTING x
        0: CLUSTER SETSLOT 6000 IMPORTING $4
        0: CLUSTER SETSLOT 1 NODE x
        0: CLUSTER SETSLOT 1 NODE $4
        0: CLUSTER SETSLOT 1 MIGRATING
        0: CLUSTER SETSLOT 1 STABLE x
        0: CLUSTER SETSLOT 1 foo
        0: CLUSTER SETSLOT 1
        0: CLUSTER SETSLOT 16384 STABLE
        0: CLUSTER SETSLOT -1 STABLE
        0: CLUSTER SETSLOT x STABLE
        3: CLUSTER SETSLOT 1 STABLE
        3: CLUSTER SETSLOT x STABLE
        0: CLUSTER ADDSLOTS 1
        0: CLUSTER ADDSLOTS 1 16384
        0: CLUSTER ADDSLOTS x
        0: CLUSTER ADDSLOTS
        0: CLUSTER ADDSLOTSRANGE 1
        0: CLUSTER ADDSLOTSRANGE 1 2 3
        0: CLUSTER ADDSLOTSRANGE 5 1
        0: CLUSTER ADDSLOTSRANGE 1 x
        0: CLUSTER ADDSLOTSRANGE 1 5
        0: CLUSTER DELSLOTS 1 1
        0: CLUSTER DELSLOTS 16384
        0: CLUSTER DELSLOTSRANGE 5 1
        0: CLUSTER DELSLOTSRANGE 1 5 3 7
        0: CLUSTER DELSLOTSRANGE 1 2 3
        0: CLUSTER FAILOVER
        0: CLUSTER FAILOVER FORCE
        3: CLUSTER FAILOVER x
        3: CLUSTER FAILOVER FORCE TAKEOVER
        0: CLUSTER REPLICATE x
        0: CLUSTER REPLICATE $0
        0: CLUSTER REPLICATE $4
        0: CLUSTER REPLICATE $1
        3: CLUSTER REPLICATE $3
        0: CLUSTER SAVECONFIG
        0: CLUSTER BUMPEPOCH x
        0: REPLICAOF NO ONE
        0: SELECT 1
        0: CLUSTER GETKEYSINSLOT 1 1
    """,
}
