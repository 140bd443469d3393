"""TLS for clients, from the directives ``tls-*``: what a listener needs to speak it.

Rules: the server listens for TLS if it has a certificate (``tls-cert-file``) or a port for it (``tls-port``).
What Redis does not start with is refused in its words. CONFIG SET changes nothing of a TLS that is in use.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from ..engine.config import ConfigurationError

if TYPE_CHECKING:
    from ..engine import Config

__all__ = ["new_context", "wants_tls"]

NO_AUTHORITY: Final = (
    "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or "
    "tls-auth-clients are enabled!"
)
BAD_PROTOCOLS: Final = (
    "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'."
)

DIRECTIVES: Final = (
    "tls-auth-clients", "tls-ca-cert-dir", "tls-ca-cert-file", "tls-cert-file", "tls-ciphers", "tls-key-file",
    "tls-key-file-pass", "tls-prefer-server-ciphers", "tls-protocols",
)  # fmt: skip
"""What a listener reads, beside its port."""

WHO_NEEDS_ONE: Final = {"yes": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "no": ssl.CERT_NONE}
"""Whether clients need a certificate, by ``tls-auth-clients``."""

PROTOCOLS: Final = {
    "tlsv1": ssl.TLSVersion.TLSv1,
    "tlsv1.1": ssl.TLSVersion.TLSv1_1,
    "tlsv1.2": ssl.TLSVersion.TLSv1_2,
    "tlsv1.3": ssl.TLSVersion.TLSv1_3,
}
"""The versions of TLS by their names in ``tls-protocols``, in order."""


def wants_tls(config: Config) -> bool:
    """Whether the server listens for TLS, too."""
    return bool(config.integer("tls-port") or config["tls-cert-file"])


def new_context(config: Config) -> ssl.SSLContext:
    """The TLS that the directives ask for; from now on CONFIG SET refuses to change them.

    Raises:
        ConfigurationError: a file is missing or cannot be used, or a value means nothing to OpenSSL.
    """
    for name in ("tls-cert-file", "tls-key-file"):
        if not config[name]:
            raise ConfigurationError(name, f"No {name} configured!")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_certificate(context, config)
    load_authorities(context, config)
    choose_protocols(context, config)
    if config["tls-ciphers"]:
        try:
            context.set_ciphers(config["tls-ciphers"])
        except ssl.SSLError:
            raise ConfigurationError(
                "tls-ciphers", f"Failed to configure ciphers: {config['tls-ciphers']}"
            ) from None
    if config["tls-prefer-server-ciphers"] == "yes":
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    for name in DIRECTIVES:
        config.guard(name, keep)
    return context


def keep(_value: str) -> None:
    raise ValueError("this server keeps the TLS that it started with")


def load_certificate(context: ssl.SSLContext, config: Config) -> None:
    certificate, key = config["tls-cert-file"], config["tls-key-file"]
    try:
        context.load_cert_chain(certificate, key, lambda: config["tls-key-file-pass"])
    except OSError as error:  # of the files; SSLError is one
        reason = f"Failed to load certificate {certificate} with private key {key}: {error}"
        raise ConfigurationError("tls-cert-file", reason, certificate) from None


def load_authorities(context: ssl.SSLContext, config: Config) -> None:
    """Whose certificates are accepted from clients."""
    file, folder = config["tls-ca-cert-file"], config["tls-ca-cert-dir"]
    context.verify_mode = WHO_NEEDS_ONE[config["tls-auth-clients"]]
    if file or folder:
        try:
            context.load_verify_locations(file or None, folder or None)
        except OSError as error:
            reason = f"Failed to configure CA certificate(s) file/directory: {error}"
            raise ConfigurationError("tls-ca-cert-file", reason, file or folder) from None
    elif context.verify_mode is not ssl.CERT_NONE:
        raise ConfigurationError("tls-auth-clients", NO_AUTHORITY, config["tls-auth-clients"])


def choose_protocols(context: ssl.SSLContext, config: Config) -> None:
    """From the lowest version that is asked for to the highest; 1.2 and 1.3 if none is."""
    wanted = config["tls-protocols"].lower().split() or ["tlsv1.2", "tlsv1.3"]
    if not PROTOCOLS.keys() >= set(wanted):
        raise ConfigurationError("tls-protocols", BAD_PROTOCOLS, config["tls-protocols"])
    versions = [version for name, version in PROTOCOLS.items() if name in wanted]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
