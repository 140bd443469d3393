"""What is said of scripts and libraries, in Redis's words; the other texts are in ``protocol/errors.py``."""

from __future__ import annotations

from ..protocol.errors import until_nul

# Scripts
NO_LUA = (
    b"ERR unknown command: scripts need lupa, which is not installed: pip install 'pressure-queues[lua]' "
    b"(in a checkout: pip install '.[lua]')"
)
NO_MEMORY = b"ERR not enough memory"
KEYS_NEGATIVE = b"ERR Number of keys can't be negative"
NO_SCRIPT = b"NOSCRIPT No matching script. Please use EVAL."
NOT_FROM_SCRIPTS = b"ERR This Redis command is not allowed from script"
UNKNOWN_IN_SCRIPT = b"ERR Unknown Redis command called from script"
ARITY_IN_SCRIPT = b"ERR Wrong number of args calling Redis command from script"
READ_ONLY_SCRIPT = b"ERR Write commands are not allowed from read-only scripts."
SCRIPT_WRITES = b"ERR Can not execute a script with write flag using *_ro command."
STALE_IN_SCRIPT = b"ERR Can not execute the command on a stale replica"
INVALID_SHEBANG = b"ERR Invalid script shebang"
UNBALANCED_SHEBANG = b"ERR Invalid engine in script shebang"
SCRIPT_FLUSH = b"ERR SCRIPT FLUSH only support SYNC|ASYNC option"
SCRIPT_DEBUG = b"ERR Use SCRIPT DEBUG YES/SYNC/NO"
NO_DEBUGGER = b"ERR SCRIPT DEBUG: this server has no debugger of scripts"
NOT_BUSY = b"NOTBUSY No scripts in execution right now."
UNKILLABLE = (
    b"UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait "
    b"the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
)
KILLED_SCRIPT = b"ERR Script killed by user with SCRIPT KILL..."


def no_block_in_script(command: bytes) -> bytes:
    """XREAD BLOCK and XREADGROUP BLOCK."""
    return b"ERR %b command is not allowed with BLOCK option from scripts" % command


def not_compiled(reason: bytes) -> bytes:
    """The text of a script is not Lua."""
    return b"ERR Error compiling script (new function): " + until_nul(reason)


def shebang_engine(engine: bytes) -> bytes:
    """A script's first line names another language."""
    return b"ERR Unexpected engine in script shebang: " + until_nul(engine)


def no_scripting_engine(name: bytes) -> bytes:
    """The same in Valkey."""
    return b"ERR Could not find scripting engine '%b'" % name


def shebang_option(option: bytes) -> bytes:
    """A script's first line says something that is not known."""
    return b"ERR Unknown lua shebang option: " + until_nul(option)


def shebang_flag(flag: bytes) -> bytes:
    """A script's first line has a flag that is none."""
    return b"ERR Unexpected flag in script shebang: " + until_nul(flag)


def busy(kill: bytes) -> bytes:
    """A script has been running for too long; ``kill`` is the command that ends it."""
    return b"BUSY Redis is busy running a script. You can only call %b KILL or SHUTDOWN NOSAVE." % kill


# Libraries of functions
LOAD_TIMEOUT = b"ERR FUNCTION LOAD timeout"
NO_FUNCTION = b"ERR Function not found"
BAD_KEY_COUNT = b"ERR Bad number of keys provided"
NO_METADATA = b"ERR Missing library metadata"
INVALID_METADATA = b"ERR Invalid library metadata"
NO_LIBRARY_NAME = b"ERR Library name was not given"
TWO_LIBRARY_NAMES = b"ERR Invalid metadata value, name argument was given multiple times"
LIBRARY_NAME = (
    b"ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one "
    b"character long"
)
NO_LIBRARY = b"ERR Library not found"
NO_FUNCTIONS = b"ERR No functions registered"
FUNCTION_FLUSH = b"ERR FUNCTION FLUSH only supports SYNC|ASYNC option"
RESTORE_POLICY = b"ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."
NO_LIBRARY_PATTERN = b"ERR library name argument was not given"
NOT_A_LIBRARY = b"ERR given type is not a function"
NO_LIBRARY_CODE = b"ERR Failed loading library data"


def metadata_value(word: bytes) -> bytes:
    """The first line of a library says something that is not known."""
    return b"ERR Invalid metadata value given: " + until_nul(word)


def no_engine(name: bytes) -> bytes:
    """The first line of a library names another language."""
    return b"ERR Engine '%b' not found" % until_nul(name)


def library_exists(name: bytes) -> bytes:
    """FUNCTION LOAD without REPLACE."""
    return b"ERR Library '%b' already exists" % name


def library_collides(name: bytes) -> bytes:
    """FUNCTION RESTORE without REPLACE."""
    return b"ERR Library %b already exists" % name


def function_exists(name: bytes) -> bytes:
    """Another library has a function of that name."""
    return b"ERR Function %b already exists" % name


def unknown_load_option(word: bytes) -> bytes:
    """FUNCTION LOAD takes REPLACE."""
    return b"ERR Unknown option given: " + until_nul(word)


def unknown_list_option(word: bytes) -> bytes:
    """FUNCTION LIST takes WITHCODE and LIBRARYNAME."""
    return b"ERR Unknown argument " + until_nul(word)
