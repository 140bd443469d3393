"""What goes over the wire: raw connections, and ways to a server that hold back, lose or write down bytes.

``connections`` speaks to a server in bytes. A ``relay`` passes bytes on: ``gate`` does something between two
messages of a client, ``recording`` writes down what was said, and ``masking`` hides the secrets in it.
``address`` is where to.
"""

from miniredis.testing.address import Address

from .connections import PATIENCE, Hangup, RawConnection, ReplyEnd, encode, reply_end

__all__ = ["PATIENCE", "Address", "Hangup", "RawConnection", "ReplyEnd", "encode", "reply_end"]
