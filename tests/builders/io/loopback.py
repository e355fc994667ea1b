"""A small HTTP server on loopback, in threads of its own, for programs that block."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, bytes] | tuple[int, bytes, dict[str, str]]
"""Status, body and further headers."""


@contextmanager
def loopback(answer: Callable[[BaseHTTPRequestHandler], Answer]) -> Iterator[str]:
    """Answer every GET and POST so. Its address, without a slash at the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body, *more = answer(self)
            self.send_response(code)
            for name, value in ({} if not more else more[0]).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
