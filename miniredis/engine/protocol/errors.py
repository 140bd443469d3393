"""The error texts that a client can see, in Redis 7.0.15's own words.

They are in sections by subject. Those of clusters, scripts, replication and users stand in their folders
(``cluster/cluster_errors.py`` and so on). A text starts with its code (``ERR``, ``WRONGTYPE``...). Texts with
something of the request in them are functions. To add one, add it to its section; commands raise it as
``CommandError(TEXT)``.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["CommandError", "ProtocolError"]


class CommandError(Exception):
    """A command answers with this error; the connection stays open."""

    def __init__(self, message: bytes) -> None:
        super().__init__(message)
        self.message = message


class ProtocolError(Exception):
    """The bytes are not a request: Redis says so and closes the connection."""

    def __init__(self, message: bytes) -> None:
        super().__init__(message)
        self.message = b"ERR Protocol error: " + message


def until_nul(text: bytes) -> bytes:
    """A text as C's ``%s`` shows it: up to its first NUL."""
    return text.split(b"\0", 1)[0]


def one_line(text: bytes) -> bytes:
    """An error reply as one line: Redis strips line ends around it, and makes spaces of those inside."""
    return text.strip(b"\r\n").replace(b"\r", b" ").replace(b"\n", b" ")


# Values and arguments
WRONG_TYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"
SYNTAX = b"ERR syntax error"
NOT_AN_INTEGER = b"ERR value is not an integer or out of range"
NOT_A_FLOAT = b"ERR value is not a valid float"
NOT_FINITE = b"ERR increment would produce NaN or Infinity"
NOT_POSITIVE = b"ERR value is out of range, must be positive"
OUT_OF_RANGE = b"ERR value is out of range"
INCREMENT_OVERFLOW = b"ERR increment or decrement would overflow"
DECREMENT_OVERFLOW = b"ERR decrement would overflow"
INDEX_OUT_OF_RANGE = b"ERR index out of range"
NUMKEYS_NOT_POSITIVE = b"ERR numkeys should be greater than 0"
COUNT_NOT_POSITIVE = b"ERR count should be greater than 0"
COUNT_BELOW_1 = b"ERR COUNT must be > 0"
COUNT_NEGATIVE = b"ERR COUNT can't be negative"
LIMIT_NEGATIVE = b"ERR LIMIT can't be negative"
TOO_MANY_KEYS = b"ERR Number of keys can't be greater than number of args"


def outside(low: int, high: int) -> bytes:
    """A number outside the range of its argument."""
    return b"ERR value is out of range, value must between %d and %d" % (low, high)


def wrong_arity(command: bytes) -> bytes:
    """Too few or too many arguments; ``command`` is in lower case, as ``client|kill``."""
    return b"ERR wrong number of arguments for '%b' command" % command


def no_input_key(command: bytes) -> bytes:
    """A command that combines keys names none."""
    return b"ERR at least 1 input key is needed for '%b' command" % command


# Keys
DB_INDEX = b"ERR DB index is out of range"
FIRST_DB_INDEX = b"ERR invalid first DB index"
SECOND_DB_INDEX = b"ERR invalid second DB index"
NO_SUCH_KEY = b"ERR no such key"
SAME_OBJECT = b"ERR source and destination objects are the same"
BUSY_KEY = b"BUSYKEY Target key name already exists."
BAD_PAYLOAD = b"ERR DUMP payload version or checksum are wrong"
BAD_DATA = b"ERR Bad data format"
NEGATIVE_TTL = b"ERR Invalid TTL value, must be >= 0"
IDLE_TIME = b"ERR Invalid IDLETIME value, must be >= 0"
FREQUENCY = b"ERR Invalid FREQ value, must be >= 0 and <= 255"
NO_FREQUENCIES = (
    b"ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when "
    b"switching between policies at runtime LRU and LFU data will take some time to adjust."
)
CURSOR = b"ERR invalid cursor"
NOT_SCORES = b"ERR One or more scores can't be converted into double"


# Expiry
NX_WITH_OTHERS = b"ERR NX and XX, GT or LT options at the same time are not compatible"
GT_WITH_LT = b"ERR GT and LT options at the same time are not compatible"


def invalid_expire(command: bytes) -> bytes:
    """An expiry that is not positive where it must be, or beyond 64 bits."""
    return b"ERR invalid expire time in '%b' command" % command


def unsupported_option(option: bytes) -> bytes:
    """An unknown option of the EXPIRE family."""
    return b"ERR Unsupported option %b" % until_nul(option)


# Strings and bits
OFFSET = b"ERR offset is out of range"
STRING_TOO_LONG = b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"
LCS_STRINGS = b"ERR The specified keys must contain string values"
LCS_BOTH = b"ERR If you want both the length and indexes, please just use IDX."
LCS_TOO_LONG = b"ERR String too long for LCS"
LCS_MEMORY = b"ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
BIT_OFFSET = b"ERR bit offset is not an integer or out of range"
BIT = b"ERR bit is not an integer or out of range"
BIT_SOUGHT = b"ERR The bit argument must be 1 or 0."
BIT_NOT = b"ERR BITOP NOT must be called with a single source key."
BIT_TYPE = b"ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
BIT_OVERFLOW = b"ERR Invalid OVERFLOW type specified"
BIT_READ_ONLY = b"ERR BITFIELD_RO only supports the GET subcommand"


# HyperLogLogs
NOT_A_HYPERLOGLOG = b"WRONGTYPE Key is not a valid HyperLogLog string value."
CORRUPTED_HYPERLOGLOG = b"INVALIDOBJ Corrupted HLL object detected"
NO_HYPERLOGLOG = b"ERR The specified key does not exist"
NOT_SPARSE = b"ERR HLL encoding is not sparse"
COUNTED_WRONG = b"TESTFAILED A HyperLogLog counted too far from the truth"


def unknown_pfdebug(subcommand: bytes) -> bytes:
    """A subcommand that PFDEBUG does not know."""
    return b"ERR Unknown PFDEBUG subcommand '%b'" % until_nul(subcommand)


# Lists
MAXLEN_NEGATIVE = b"ERR MAXLEN can't be negative"
RANK_ZERO = (
    b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
    b"or use negative to start from the end of the list"
)


# Hashes
HASH_NOT_AN_INTEGER = b"ERR hash value is not an integer"
HASH_NOT_A_FLOAT = b"ERR hash value is not a float"
INFINITE = b"ERR value is NaN or Infinity"

NO_FIELDS = b"ERR Mandatory argument FIELDS is missing or not at the right position"
FIELD_COUNT = b"ERR Number of fields must be a positive integer"
FIELD_COUNT_PARAMETER = b"ERR Parameter `numFields` should be greater than 0"
FIELD_COUNT_DIFFERS = b"ERR The `numfields` parameter must match the number of arguments"
FIELD_COUNT_INVALID = b"ERR invalid number of fields"
FIELD_COUNT_OF_VALKEY = b"ERR numfields should be greater than 0 and match the provided number of fields"
FIELD_TIME_NEGATIVE = b"ERR invalid expire time, must be >= 0"
FNX_WITH_FXX = b"ERR Only one of FXX or FNX arguments can be specified"
TIME_WITH_KEEPTTL = b"ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"


def unknown_argument(word: bytes) -> bytes:
    """A word that a command does not know."""
    return b"ERR unknown argument: %b" % until_nul(word)


# Sorted sets
NX_WITH_XX = b"ERR XX and NX options at the same time are not compatible"
GT_LT_NX = b"ERR GT, LT, and/or NX options at the same time are not compatible"
INCR_OF_SEVERAL = b"ERR INCR option supports a single increment-element pair"
NOT_A_SCORE = b"ERR resulting score is not a number (NaN)"
NOT_A_WEIGHT = b"ERR weight value is not a float"
NOT_A_SCORE_RANGE = b"ERR min or max is not a float"
NOT_A_STRING_RANGE = b"ERR min or max not valid string range item"
LIMIT_OF_RANKS = b"ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
SCORES_OF_STRINGS = b"ERR syntax error, WITHSCORES not supported in combination with BYLEX"


# Places
TOO_FEW_VERTICES = b"ERR GEOSEARCH BYPOLYGON must have at least 3 vertices"
VERTICES = b"ERR invalid number of vertices"
NO_PLACE = b"ERR could not decode requested zset member"
UNIT = b"ERR unsupported unit provided. please use M, KM, FT, MI"
RADIUS = b"ERR need numeric radius"
RADIUS_NEGATIVE = b"ERR radius cannot be negative"
WIDTH = b"ERR need numeric width"
HEIGHT = b"ERR need numeric height"
BOX_NEGATIVE = b"ERR height or width cannot be negative"
ANY_WITHOUT_COUNT = b"ERR the ANY argument requires COUNT argument"


def off_the_map(longitude: float, latitude: float) -> bytes:
    """A place whose coordinates a geohash cannot hold."""
    return b"ERR invalid longitude,latitude pair %f,%f" % (longitude, latitude)


def stored_details(*, is_search: bool) -> bytes:
    """A search whose result is stored cannot ask for distances, hashes or coordinates."""
    option = b"GEOSEARCHSTORE" if is_search else b"STORE option in GEORADIUS"
    return b"ERR %b is not compatible with WITHDIST, WITHHASH and WITHCOORD options" % option


def no_centre(command: bytes) -> bytes:
    """A search without FROMMEMBER and FROMLONLAT, or with both."""
    return b"ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for %b" % until_nul(command)


def no_shape(command: bytes) -> bytes:
    """A search without BYRADIUS and BYBOX, or with both."""
    return b"ERR exactly one of BYRADIUS and BYBOX can be specified for %b" % until_nul(command)


def no_member(member: bytes) -> bytes:
    """A search around a member that is not there."""
    return b"ERR member %b does not exist" % until_nul(member)


# Streams
INVALID_STREAM_ID = b"ERR Invalid stream ID specified as stream command argument"
STREAM_ID_ZERO = b"ERR The ID specified in XADD must be greater than 0-0"
STREAM_ID_SMALL = b"ERR The ID specified in XADD is equal or smaller than the target stream top item"
STREAM_EXHAUSTED = b"ERR The stream has exhausted the last possible ID, unable to add more items"
STREAM_TOO_LARGE = b"ERR Elements are too large to be stored"
STREAM_TWO_STRATEGIES = b"ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
STREAM_NO_STRATEGY = b"ERR syntax error, XTRIM must be called with a trimming strategy"
STREAM_LIMIT_ALONE = b"ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
STREAM_LIMIT_EXACT = b"ERR syntax error, LIMIT cannot be used without the special ~ option"
NO_LAST_ENTRY = b"ERR the stream last element ID is 0-0"
STREAM_MAXLEN = b"ERR The MAXLEN argument must be >= 0."
STREAM_LIMIT = b"ERR The LIMIT argument must be >= 0."
RANGE_START = b"ERR invalid start ID for the interval"
RANGE_END = b"ERR invalid end ID for the interval"


def unbalanced_streams(command: bytes, ids: bytes) -> bytes:
    """XREAD or XREADGROUP with not as many ids as keys, in the words of 7.2 and later."""
    return b"ERR Unbalanced '%b' list of streams: for each stream key %b must be specified." % (command, ids)


UNBALANCED_STREAMS = (
    b"ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
)
GROUP_IN_XREAD = b"ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
NOACK_IN_XREAD = b"ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
NEW_IN_XREAD = (
    b"ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
)
LAST_IN_XREADGROUP = (
    b"ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this "
    b"consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return "
    b"an empty result set."
)
PLUS_IN_GROUP = LAST_IN_XREADGROUP.replace(b"$", b"+")
MISSING_GROUP = b"ERR Missing GROUP option for XREADGROUP"
STREAM_GONE = b"UNBLOCKED the stream key no longer exists"
GROUP_GONE = b"NOGROUP the consumer group this client was blocked on no longer exists"
GROUP_EXISTS = b"BUSYGROUP Consumer Group name already exists"
XGROUP_NO_KEY = (
    b"ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the "
    b"MKSTREAM option to create an empty stream automatically."
)
ENTRIES_READ = b"ERR value for ENTRIESREAD must be positive or -1"
AUTOCLAIM_MEMORY = b"ERR Insufficient memory, failed allocating transient memory, COUNT too high."
XSETID_ADDED_NEGATIVE = b"ERR entries_added must be positive"
XSETID_BELOW_DELETED = b"ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
XSETID_BELOW_GIVEN = b"ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
XSETID_BELOW_TOP = b"ERR The ID specified in XSETID is smaller than the target stream top item"
XSETID_ADDED_SMALL = b"ERR The entries_added specified in XSETID is smaller than the target stream length"


def no_group(key: bytes, group: bytes) -> bytes:
    """A command about the pending entries of a group names a key or a group that is not there."""
    return b"NOGROUP No such key '%b' or consumer group '%b'" % (until_nul(key), until_nul(group))


def no_group_to_read(key: bytes, group: bytes) -> bytes:
    """The same, for XREADGROUP."""
    return no_group(key, group) + b" in XREADGROUP with GROUP option"


def no_group_of_key(key: bytes, group: bytes) -> bytes:
    """The same, for XGROUP and XINFO; the key is there."""
    return b"NOGROUP No such consumer group '%b' for key name '%b'" % (until_nul(group), until_nul(key))


def invalid_in_claim(what: bytes, command: bytes) -> bytes:
    """An argument of XCLAIM or XAUTOCLAIM is not a number."""
    return b"ERR Invalid %b argument for %b" % (what, command)


def claim_option(option: bytes) -> bytes:
    """XCLAIM has no such option."""
    return b"ERR Unrecognized XCLAIM option '%b'" % until_nul(option)


# Reliable queues
EMPTY_KEY = b"EMPTYKEY"  # the module says no more
ELAPSED_NEGATIVE = b"ERR elapsed can't be negative"
MESSAGE_ID = b"ERR Invalid message ID, it should be <milliseconds>-<sequence>"
QUEUE_EXHAUSTED = b"ERR The queue has exhausted the last possible ID, unable to push more messages"


# Blocking
TIMEOUT_NOT_A_FLOAT = b"ERR timeout is not a float or out of range"
TIMEOUT_NOT_AN_INTEGER = b"ERR timeout is not an integer or out of range"
AGE_NOT_AN_INTEGER = b"ERR maxage is not an integer or out of range"
AGE_NOT_POSITIVE = b"ERR maxage should be greater than 0"
NUMKEYS_OUT_OF_RANGE = b"ERR invalid numkeys value or out of range"
TIMEOUT_NEGATIVE = b"ERR timeout is negative"
TIMEOUT_OUT_OF_RANGE = b"ERR timeout is out of range"
UNBLOCKED = b"UNBLOCKED client unblocked via CLIENT UNBLOCK"
UNBLOCK_REASON = b"ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"


# Transactions
NESTED_MULTI = b"ERR MULTI calls can not be nested"
EXEC_WITHOUT_MULTI = b"ERR EXEC without MULTI"
DISCARD_WITHOUT_MULTI = b"ERR DISCARD without MULTI"
WATCH_INSIDE_MULTI = b"ERR WATCH inside MULTI is not allowed"
EXEC_ABORTED = b"EXECABORT Transaction discarded because of previous errors."


def not_in_transaction(command: bytes) -> bytes:  # noqa: ARG001
    """A command that MULTI does not queue."""
    return b"ERR Command not allowed inside a transaction"


def exec_aborted(reason: bytes) -> bytes:
    """EXEC itself was refused, and the transaction with it."""
    return b"EXECABORT Transaction discarded because of: " + reason.removeprefix(b"ERR ")


def deny_blocking(command: bytes) -> bytes:
    """A command that needs a connection of its own cannot be part of EXEC."""
    return b"ERR %b isn't allowed for a DENY BLOCKING client" % command


# Connections
MAX_CLIENTS = b"ERR max number of clients reached"
PROTECTED_MODE = (
    b"DENIED Redis is running in protected mode because protected mode is enabled and no password is set for "
    b"the default user. In this mode connections are only accepted from the loopback interface. If you want "
    b"to connect from external computers to Redis you may adopt one of the following solutions: 1) Just "
    b"disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface "
    b"by connecting to Redis from the same host the server is running, however MAKE SURE Redis is not "
    b"publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) "
    b"Alternatively you can just disable the protected mode by editing the Redis configuration file, and "
    b"setting the protected mode option to 'no', and then restarting the server. 3) If you started the "
    b"server manually just for testing, restart it with the '--protected-mode no' option. 4) Setup a an "
    b"authentication password for the default user. NOTE: You only need to do one of the above things in "
    b"order for the server to start accepting connections from the outside."
)
NO_AUTH = b"NOAUTH Authentication required."


def wrong_password() -> bytes:
    """A client cannot become a user with this password."""
    return b"WRONGPASS invalid username-password pair or user is disabled."


NO_PASSWORD_SET = (
    b"ERR AUTH <password> called without any password configured for the default user. "
    b"Are you sure your configuration is correct?"
)
NO_PROTOCOL = b"NOPROTO unsupported protocol version"
PROTOCOL_NOT_AN_INTEGER = b"ERR Protocol version is not an integer or out of range"
HELLO_WITHOUT_AUTH = (
    b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> "
    b"<pass> option can be used to authenticate the client and select the RESP protocol version at the "
    b"same time"
)
ONLY_RESP3 = b"ERR RESP2 is not supported by this command"


def hello_option(option: bytes) -> bytes:
    """HELLO takes AUTH and SETNAME, with their arguments."""
    return b"ERR Syntax error in HELLO option '%b'" % until_nul(option)


# CLIENT
IDLE_NOT_POSITIVE = b"ERR idle should be greater than 0"
IDLE_NOT_AN_INTEGER = b"ERR idle is not an integer or out of range"
DB_NOT_AN_INTEGER = b"ERR DB is not an integer or out of range"
NO_IMPORT_MODE = b"ERR Server is not in import mode"
CLIENT_NAME = b"ERR Client names cannot contain spaces, newlines or special characters."
NO_SUCH_CLIENT = b"ERR No such client"
CLIENT_ID_NOT_POSITIVE = b"ERR client-id should be greater than 0"
INVALID_CLIENT_ID = b"ERR Invalid client ID"
PAUSE_MODE = b"ERR CLIENT PAUSE mode must be WRITE or ALL"
NOT_TRACKING = (
    b"ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT "
    b"mode enabled"
)
CACHING_YES = b"ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
CACHING_NO = b"ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
REDIRECTED_TWICE = b"ERR A client can only redirect to a single other client"
NO_CLIENT_TO_REDIRECT_TO = b"ERR The client ID you want redirect to does not exist"
PREFIX_WITHOUT_BCAST = b"ERR PREFIX option requires BCAST mode to be enabled"
BCAST_SWITCHED = (
    b"ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then "
    b"re-enabling it with a different mode."
)
BCAST_WITH_OPTION = b"ERR OPTIN and OPTOUT are not compatible with BCAST"
OPTIN_WITH_OPTOUT = b"ERR You can't specify both OPTIN mode and OPTOUT mode"
OPTION_SWITCHED = (
    b"ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then "
    b"re-enabling it with a different mode."
)


def unrecognized_option(name: bytes) -> bytes:
    """CLIENT SETINFO keeps no such thing."""
    return b"ERR Unrecognized option '%b'" % until_nul(name)


def special_characters(attribute: bytes) -> bytes:
    """CLIENT SETINFO keeps only printable characters."""
    return b"ERR %b cannot contain spaces, newlines or special characters." % attribute


def unknown_client_type(name: bytes) -> bytes:
    """CLIENT LIST and CLIENT KILL know normal, master, replica and pubsub."""
    return b"ERR Unknown client type '%b'" % until_nul(name)


def no_such_user(name: bytes) -> bytes:
    """CLIENT KILL USER names a user there is not."""
    return b"ERR No such user '%b'" % until_nul(name)


def overlapping_prefixes(prefix: bytes, other: bytes, *, is_given: bool) -> bytes:
    """Of two prefixes that a client tracks, neither may begin with the other."""
    which = b"another provided" if is_given else b"an existing"
    return b"ERR Prefix '%b' overlaps with %b prefix '%b'. Prefixes for a single client must not overlap." % (
        until_nul(prefix),
        which,
        until_nul(other),
    )


def no_database(last: int) -> bytes:
    """A filter of clients by a database that there is not."""
    return b"ERR DB number should be between 0 and %d" % last


def of_opposite_filter(error: bytes, name: bytes) -> bytes:
    """The error of a filter of clients that has NOT- in front of its name."""
    return error.replace(b"the provided filter", b"the NOT-%b filter" % name).replace(
        b"ERR DB", b"ERR NOT-DB"
    )


def unknown_letters(what: bytes, letters: bytes) -> bytes:
    """A filter of clients by letters that none has."""
    return b"ERR Unknown %b found in the provided filter: %b" % (what, letters)


# Subscriptions and MONITOR
MONITOR_OF_KEYS = b"ERR Replica can't interact with the keyspace"
MONITOR_IN_TRANSACTION = b"ERR MONITOR isn't allowed for DENY BLOCKING client"


def only_for_listeners(command: bytes) -> bytes:
    """A client with subscriptions may send only these commands, in RESP2."""
    return (
        b"ERR Can't execute '%b': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
        b"in this context" % command
    )


# Unknown commands, and COMMAND
ARGUMENTS_SHOWN = 128
"""An unknown command's name and arguments are repeated up to this many bytes each."""
NO_SUCH_COMMAND = b"ERR Invalid command specified"
NO_KEYS = b"ERR The command has no key arguments"
KEYS_ARITY = b"ERR Invalid number of arguments specified for command"
KEYS_ARGUMENTS = b"ERR Invalid arguments specified for command"


def unknown_command(args: Sequence[bytes]) -> bytes:
    """The command is not in the table; its arguments are shown as far as they fit."""
    name = until_nul(args[0])[:ARGUMENTS_SHOWN]
    shown = shown_arguments(args[1:], b"'%b' ")
    return b"ERR unknown command '%b', with args beginning with: %b" % (name, shown)


def shown_arguments(args: Sequence[bytes], form: bytes) -> bytes:
    """Arguments, each in a form, as far as they fit."""
    shown = b""
    for argument in args:
        if len(shown) >= ARGUMENTS_SHOWN:
            break
        shown += form % until_nul(argument)[: ARGUMENTS_SHOWN - len(shown)]
    return shown


def unknown_subcommand(command: bytes, subcommand: bytes) -> bytes:
    """The command is known, this part of it is not."""
    name = until_nul(subcommand)[:ARGUMENTS_SHOWN]
    return b"ERR unknown subcommand '%b'. Try %b HELP." % (name, command.upper())


def subcommand_or_arity(subcommand: bytes, command: bytes) -> bytes:
    """A subcommand that checks the number of its arguments itself got too many."""
    shown = until_nul(subcommand)[:ARGUMENTS_SHOWN]
    return b"ERR unknown subcommand or wrong number of arguments for '%b'. Try %b HELP." % (shown, command)


# Directives
NO_CONFIG_FILE = b"ERR The server is running without a config file"
NOT_REWRITTEN = b"ERR Rewriting config file: Operation not supported"


def unknown_option(name: bytes) -> bytes:
    """CONFIG SET of a name that is no directive."""
    return b"ERR Unknown option or number of arguments for CONFIG SET - '%b'" % until_nul(name)


def config_set_failed(name: bytes, reason: bytes) -> bytes:
    """CONFIG SET of a value the directive does not take; nothing was changed."""
    return b"ERR CONFIG SET failed (possibly related to argument '%b') - %b" % (until_nul(name), reason)


def not_allowed(command: bytes, directive: str) -> bytes:
    """A command that the configuration forbids."""
    return (
        b'ERR %b command not allowed. If the %b option is set to "local", you can run it from a local '
        b"connection, otherwise you need to set this option in the configuration file, and then restart "
        b"the server." % (command.partition(b"|")[0].upper(), directive.encode())
    )


# The server
LOG_TYPE = b"ERR type should be one of the following: slow, large-request, large-reply"
LOADING = b"LOADING Redis is loading the dataset in memory"
NO_SHUTDOWN_NOW = b"ERR Errors trying to SHUTDOWN. Check logs."
NO_SHUTDOWN = b"ERR No shutdown in progress."
SLOWLOG_COUNT = b"ERR count should be greater than or equal to -1"
UNKNOWN_SAMPLE = b"ERR Wrong protocol type name. Please use one of the following: %b"
NO_PACKED_THRESHOLD = b"ERR argument must be a memory value bigger than 1 and smaller than 4gb"


def no_samples(event: bytes) -> bytes:
    """LATENCY GRAPH knows no spike of an event."""
    return one_line(b"ERR No samples available for event '%b'" % until_nul(event))


# Files
NOT_LOADED = b"ERR Error trying to load the AOF files, check server logs."
NO_REWRITING = (
    b"ERR Can't execute an AOF background rewriting. Please check the server logs for more information."
)
REWRITING = b"ERR Background append only file rewriting already in progress"
NOT_SAVED = b"ERR"
NO_FILE = "this server has no file to save to; start it with the directive save or dbfilename"
SAVING = b"ERR Background save already in progress"
REWRITING_NOW = (
    b"ERR Another child process is active (AOF?): can't BGSAVE right now. "
    b"Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible."
)
CANNOT_SAVE = (
    b"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. "
    b"Commands that may modify the data set are disabled, because this instance is configured to report "
    b"errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). "
    b"Please check the Redis logs for details about the RDB error."
)


def disk_failed(reason: str) -> bytes:
    """Writes are refused while the append-only file cannot be written."""
    return b"MISCONF Errors writing to the AOF file: " + reason.encode()


# What the parser of requests says of malformed bytes; see ``ProtocolError``
INVALID_MULTIBULK = b"invalid multibulk length"
INVALID_BULK = b"invalid bulk length"
UNKNOWN_CLIENTS_COUNT = b"unauthenticated multibulk length"
UNKNOWN_CLIENTS_BULK = b"unauthenticated bulk length"
BIG_COUNT = b"too big mbulk count string"
BIG_BULK_COUNT = b"too big bulk count string"
BIG_INLINE = b"too big inline request"
UNBALANCED_QUOTES = b"unbalanced quotes in request"


def expected_dollar(got: bytes) -> bytes:
    """An argument of a request did not start with ``$``."""
    return b"expected '$', got '%b'" % got


# Sentinels
NO_SUCH_MASTER = b"ERR No such master with that name"
NO_GOOD_REPLICA = b"NOGOODSLAVE No suitable replica to promote"
SENTINEL_BUSY = b"INPROG Failover already in progress"
ONLY_HELLO = b"ERR Only HELLO messages are accepted by Sentinel instances."


def unknown_type(name: bytes) -> bytes:
    """SCAN of Valkey is asked for a type that there is not."""
    return b"ERR unknown type name '%b'" % name


STRALGO_SOURCES = b"ERR Either use STRINGS or KEYS"
STRALGO_NOTHING = b"ERR Please specify two strings: STRINGS or KEYS options are mandatory"
NO_MATCHING_SCRIPT = b"NOSCRIPT No matching script."

# MIGRATE
KEYS_BESIDE_A_KEY = b"ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
NO_TARGET = b"IOERR error or timeout connecting to the client"
TARGET_READS = b"IOERR error or timeout reading to target instance"
TARGET_WRITES = b"IOERR error or timeout writing to target instance"


def refused_by_target(error: bytes) -> bytes:
    """The server that MIGRATE sends keys to refuses them."""
    return b"ERR Target instance replied with error: %b" % error
