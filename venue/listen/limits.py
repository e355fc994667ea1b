"""How long a peer may take and how much it may send before a request or message is whole.

None of these is published by the interface; a client that means well meets none of them.
Durations in seconds, sizes in bytes.
"""

from typing import Final

CONNECTIONS_MAX: Final = 1_000
"""REST and channel together; one more is closed the moment it is accepted."""

CONNECTIONS_PER_ADDRESS_MAX: Final = 500
"""Of those, from one address that is not loopback: whoever takes them all, with no key, would keep
everybody else out. On this host everybody has the same address."""

ACCEPT_BACKLOG: Final = 1_024
ACCEPTS_IN_A_TURN: Final = 16

SOCKET_BUFFER_BYTES: Final = 128 * 1024
"""Asked of the kernel for each direction of a connection, which takes twice that. Left alone it
keeps megabytes for a peer that does not read, and nobody would notice for as long."""

HEAD_DEADLINE_S: Final = 5.0
"""From the connection, or the first byte of a later request, until its header is whole."""

BODY_DEADLINE_S: Final = 11.0
"""From the header until the body is whole: one more than the REST shell waits before it answers."""

IDLE_S: Final = 15
"""How long a connection without a request is kept; above what a pooling client keeps it for."""

HOLD_S: Final = 1.0
"""How long an answer is held back with which the application ends a connection: whoever floods us
comes again at once, and taking a connection costs us three times what an answer does."""

WRITE_DEADLINE_S: Final = 10.0
"""How long a peer may leave an answer unread once the buffers are full."""

PART_BYTES: Final = 128 * 1024
"""Of an answer handed to the transport at once: so much, and what the kernel keeps, must be taken
within that time."""

LINGER_S: Final = 2.0
"""How long a closing connection goes on dropping what comes in, so that the answer is not lost."""

LINGER_BYTES_MAX: Final = 1024 * 1024
"""More than this is not even dropped: it stays in the peer."""

HEAD_BYTES_MAX: Final = 16 * 1024
HEAD_FIELDS_MAX: Final = 100
HEAD_LINE_BYTES_MAX: Final = 8_000
"""The channel's handshake is parsed a second time, by a parser that takes 128 lines of 8,192."""

BODY_WIRE_BYTES_MAX: Final = 256 * 1024
"""Of one body with its chunk marks and trailers."""

BODY_PIECES_MAX: Final = 2_048
"""Chunks of one body, or reads that it came in. Each costs us the same, whether it holds a byte or
all of it, and whoever sends them need not have shown a key."""

PARSED_AT_ONCE_BYTES: Final = 16 * 1024
"""A read of the socket may hold far more, of which the rest need not be parsed any more."""

PIPELINED_MAX: Final = 32
"""Requests that may wait behind the one being answered."""

MESSAGE_BYTES_MAX: Final = 256 * 1024
"""Of one channel message: the largest set allowed is a tenth, and far larger ones are refused
with a word (too_many_targets) instead of a hang-up."""

MESSAGE_DEADLINE_S: Final = 10.0
"""From the first byte of a channel message until it is whole."""

PING_S: Final = 20.0

INTAKE_PER_SECOND: Final = 100
"""Channel frames, or KiB, taken from one peer in the long run; what is beyond waits in the peer."""

INTAKE_BURST: Final = 400
