"""What users and those who administer them are told, in Redis's words; see ``protocol/errors.py``."""

from __future__ import annotations

from ..protocol.errors import one_line, until_nul


def no_command_right(user: bytes, name: bytes) -> bytes:  # noqa: ARG001
    """A user may not run a command."""
    return b"NOPERM this user has no permissions to run the '%b' command" % name


def no_key_right(user: bytes, key: bytes) -> bytes:  # noqa: ARG001
    """A user may not use a key."""
    return b"NOPERM this user has no permissions to access one of the keys used as arguments"


def no_channel_right(user: bytes, channel: bytes) -> bytes:  # noqa: ARG001
    """A user may not use a channel."""
    return b"NOPERM this user has no permissions to access one of the channels used as arguments"


def not_any_more(reason: bytes) -> bytes:
    """EXEC finds that a user may no longer run a command that was queued."""
    return (
        b"NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. "
        b"This command is no longer allowed for the following reason: " + reason
    )


def no_right_of_scripts(what: bytes) -> bytes:
    """A script runs a command that its user may not run."""
    return b"ERR The user executing the script can't " + what


RULE_SYNTAX = b"Syntax error"
UNKNOWN_IN_RULE = b"Unknown command or category name in ACL"
KEYS_AFTER_ALL = (
    b"Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any "
    b"effect. Try 'resetkeys' to start with an empty list of patterns"
)
CHANNELS_AFTER_ALL = (
    b"Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any "
    b"effect. Try 'resetchannels' to start with an empty list of channels"
)
NO_SUCH_PASSWORD = b"The password you are trying to remove from the user does not exist"
BAD_HASH = (
    b"The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
)
FIRST_WORD_OF_SUBCOMMAND = b"Allowing first-arg of a subcommand is not supported"
USER_NAME = b"ERR Usernames can't contain spaces or null characters"
DEFAULT_USER_STAYS = b"ERR The 'default' user cannot be removed"
GENPASS_BITS = (
    b"ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to "
    b"4096"
)


def no_acl_file() -> bytes:
    """ACL LOAD and SAVE need a file."""
    return (
        b"ERR This Redis instance is not configured to use an ACL file. You may want to specify users via "
        b"the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration "
        b"file set) in order to store users in the Redis configuration."
    )


def sort_option_needs_rights(option: bytes) -> bytes:
    """BY and GET read keys that the request does not name."""
    return b"ERR %b option of SORT denied due to insufficient ACL permissions." % option


NO_USER_NAME = b"Bad directive or wrong number of arguments"
SPACES_IN_USER_NAME = b"Spaces not allowed in ACL usernames"
UNMATCHED_IN_FILE = b"Unmatched parenthesis in selector definition"
DUPLICATE_USER = b"Duplicate user found. A user can only be defined once in config files"
USERS_TWICE = (
    "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is invalid. "
    "This setup is very likely to lead to configuration errors and security holes, please define either an "
    "ACL file or declare users directly in your redis.conf, but not both."
)
ACL_FILE_IS_WRONG = (
    b"WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)
ACL_NOT_SAVED = (
    b"ERR There was an error trying to save the ACLs. Please check the server logs for more information"
)


def bad_user_line(name: bytes, reason: bytes) -> bytes:
    """A configuration describes a user in a wrong way."""
    return b"Error in user declaration '%b': %b" % (name, reason)


def acl_file_not_read(file: bytes, reason: str) -> bytes:
    """The file of the users cannot be read."""
    return b"Error loading ACLs, opening file '%b': %b" % (file, reason.encode())


def bad_rule(rule: bytes, reason: bytes) -> bytes:
    """ACL SETUSER does not know a rule."""
    return one_line(b"ERR Error in ACL SETUSER modifier '%b': %b" % (until_nul(rule), reason))


def unmatched_parenthesis(word: bytes) -> bytes:
    """A selector does not end."""
    return one_line(b"ERR Unmatched parenthesis in acl selector starting at '%b'." % until_nul(word))


def unknown_category(name: bytes) -> bytes:
    """ACL CAT knows only the categories."""
    return one_line(b"ERR Unknown category '%b'" % until_nul(name))


def dry_run_user(name: bytes) -> bytes:
    """ACL DRYRUN knows no such user."""
    return one_line(b"ERR User '%b' not found" % until_nul(name))


def dry_run_command(name: bytes) -> bytes:
    """ACL DRYRUN knows no such command."""
    return one_line(b"ERR Command '%b' not found" % until_nul(name))
