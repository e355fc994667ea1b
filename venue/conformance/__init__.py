"""The outside judge: every statement of the interface as a check in raw JSON against any address.

Nothing here imports a type, a number or a rule of the venue. What the interface publishes is
written down here a second time on purpose: two accounts of the truth.
"""
