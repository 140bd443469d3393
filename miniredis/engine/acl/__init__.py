"""Access control lists: users, what they may do, and the log of what they were refused.

``Users`` has the users of a server, and the gate asks it whether a client may run a request. A ``User`` has
passwords and one or more ``Selector``, each a set of rights; rules such as ``+get`` and ``~jobs:*`` change
them. A ``Catalog`` knows the commands and categories that rules name.
"""
