"""The adapter of the interface that `venue serve` offers: REST for requests, a websocket for market
data."""

from bot.core.messages import VenueCapabilities
from bot.io.adapter import REQUEST_S_MAX, Emit, VenueAdapter, VenueAddress
from bot.io.client.feed import Feed
from bot.io.client.rest import Rest


class NativeAdapter(VenueAdapter):
    capabilities = VenueCapabilities()

    def order_client(
        self,
        address: VenueAddress,
        requests_in_flight: int,
        *,
        request_s: float = REQUEST_S_MAX,
        sane_only: bool = True,
    ) -> Rest:
        return Rest(
            address.base_url,
            address.key,
            requests_in_flight,
            others=address.others,
            request_s=request_s,
            sane_only=sane_only,
        )

    def channel(self, address: VenueAddress, emit: Emit) -> Feed:
        return Feed(address.stream_url, emit)
