"""Uses a venue through a client that was generated from its description, and prints as JSON what
the client read. Runs in `.venv-client`, with the package `generated` on its path.

`python use.py BASE_URL KEY`
"""

import json
import sys

from generated import AuthenticatedClient
from generated.api.default import amend_order, cancel_order, create_order, get_order, list_markets
from generated.models import AmendType0, NewOrder, NewOrderOutcome, NewOrderSide


def main(url: str, key: str) -> None:
    client = AuthenticatedClient(url, token=key, prefix="", auth_header_name="X-API-KEY")
    stranger = AuthenticatedClient(url, token="no key", prefix="", auth_header_name="X-API-KEY")
    (market,) = list_markets.sync(client=client).markets
    order = NewOrder(
        outcome=NewOrderOutcome.YES,
        side=NewOrderSide.BUY,
        price=5,
        client_order_id="generated-1",
        ticker=market.ticker,
        qty=3,
    )
    made = create_order.sync(client=client, body=order)
    moved = amend_order.sync(made.order_id, client=client, body=AmendType0(price=6))
    gone = cancel_order.sync(made.order_id, client=client)
    order.qty = 4
    failures = (
        create_order.sync_detailed(client=client, body=order),
        get_order.sync_detailed("1", client=client),
        get_order.sync_detailed("1", client=stranger),
    )
    read = {
        "created": [made.status, made.qty],
        "amended": [moved.status, moved.price],
        "canceled": [gone.order.status, gone.reduced_by],
        "failures": [[each.status_code, each.parsed.code, each.parsed.error] for each in failures],
    }
    print(json.dumps(read))


if __name__ == "__main__":
    main(*sys.argv[1:])
