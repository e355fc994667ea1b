"""Why an order of ours is cancelled: the words that `bot explain` prints after `cancel:`.

docs/operations.md#explain lists them with the file of each rule; a test compares the list.
"""

import enum


class CancelReason(enum.StrEnum):
    # The plan of a market:
    NOT_WANTED = "no longer wanted"
    SOLD_INSTEAD = "shares held now: sold instead"
    MERGED = "to be merged with what is missing"
    # What must not rest any longer:
    COULD_GROW = "could grow a position"
    TOO_BOLD = "too bold now, and it cannot be moved in time"
    BEYOND_LIMITS = "beyond a limit that was lowered"
    # An amend that may not leave, or came to nothing:
    AMENDS_OFF = "amends are off: one gave its order another id"
    NO_AMENDS = "amends keep no queue place at this venue"
    AMEND_REJECTED = "its change was refused"
    AMEND_UNANSWERED = "its amend has no answer"
    AMEND_SIZE = "too much here"
    AMEND_EXPOSURE = "the change could pass a limit"
    AMEND_GROWS = "the change could grow a position"
    # An order that a read and two lists do not know:
    NOT_FOUND = "neither listed nor found"
    # A phase in which nothing may rest:
    STARTING = "nothing is quoted yet"
    PAUSED = "paused"
    LATCHED = "latched"
    STOPPING = "the run ends"
