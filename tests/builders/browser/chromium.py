"""A real headless Chromium, driven over the DevTools protocol: what a person's hands would do."""

import base64
import itertools
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.builders.servers import need

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
    "Home": (36, ""),
    "End": (35, ""),
    " ": (32, " "),
}
SHIFT = 8
LOUD = ("error", "warning")


class PageFault(AssertionError):
    """The page did not do what was waited for, or a script in it failed."""


class Chromium:
    """One browser process. `page` opens tabs."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._count = itertools.count(1)
        self._pages: dict[str, Page] = {}

    def page(self) -> "Page":
        """A fresh tab in a context of its own, on nothing yet."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, attached["sessionId"])
        self._pages[attached["sessionId"]] = page
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method: str, session: str | None = None, **given: object) -> dict[str, Any]:
        """The result of one method; events that come meanwhile go to their pages."""
        number = next(self._count)
        asked: dict[str, object] = {"id": number, "method": method, "params": given}
        if session is not None:
            asked["sessionId"] = session
        self._socket.send(json.dumps(asked))
        while True:
            told = json.loads(self._socket.recv(timeout=20))
            if told.get("id") == number:
                if "error" in told:
                    raise PageFault(f"{method}: {told['error']['message']}")
                return dict(told["result"])
            self._pass_on(told)

    def listen(self, for_s: float) -> None:
        until_s = time.monotonic() + for_s
        while (left_s := until_s - time.monotonic()) > 0:
            try:
                self._pass_on(json.loads(self._socket.recv(timeout=left_s)))
            except TimeoutError:
                return

    def _pass_on(self, told: dict[str, Any]) -> None:
        page = self._pages.get(told.get("sessionId", ""))
        if page is not None:
            page.heard(told["method"], told["params"])


class Page:
    """One tab. requests: every address it asked for; complaints: what its console showed."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def call(self, method: str, **given: object) -> dict[str, Any]:
        """The result of one method of the protocol on this tab."""
        return self._browser.call(method, self._session, **given)

    def heard(self, method: str, told: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and told["type"] in LOUD:
            self.complaints.append(json.dumps(told["args"])[:2000])
        elif method == "Log.entryAdded" and told["entry"]["level"] in LOUD:
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")

    # --- looking ----------------------------------------------------------------------------------

    def look(self, width: int, height: int, *, dark: bool = False, scale: int = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def value(self, script: str) -> Any:
        """What an expression comes to in the page; a promise is waited for."""
        told = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in told:
            raise PageFault(f"{script}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def wait(self, script: str, longest_s: float = 30) -> Any:
        """The first true value of an expression; PageFault when none comes in time."""
        until_s = time.monotonic() + longest_s
        while True:
            found = self.value(
                f"(() => {{ try {{ const found = {script};"
                "return found instanceof Node || found; } catch { return null; } })()"
            )
            if found:
                return found
            if time.monotonic() > until_s:
                raise PageFault(f"never true within {longest_s} s: {script}")
            self._browser.listen(0.03)

    def rest(self, for_s: float) -> None:
        self._browser.listen(for_s)

    def text(self, selector: str) -> str:
        return str(self.value(f"document.querySelector({json.dumps(selector)}).textContent"))

    def shot(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, as PNG."""
        given: dict[str, object] = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            given["clip"] = {**size, "x": 0, "y": 0, "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **given)["data"]))

    # --- hands ------------------------------------------------------------------------------------

    def click(self, selector: str) -> None:
        """Move the mouse onto the middle of an element and press it."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="none" if kind == "mouseMoved" else "left",
                clickCount=0 if kind == "mouseMoved" else 1,
            )

    def press(self, *keys: str, shift: bool = False) -> None:
        for key in keys:
            code, text = KEYS[key]
            given: dict[str, object] = {
                "key": key,
                "code": "Space" if key == " " else key,
                "windowsVirtualKeyCode": code,
                "modifiers": SHIFT if shift else 0,
            }
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **given)
            self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def write(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def focused(self) -> str:
        """The text of what has the focus, or its id when it has none."""
        script = "(document.activeElement.textContent || document.activeElement.id).trim()"
        return str(self.value(script))


@contextmanager
def chromium(folder: Path) -> Iterator[Chromium]:
    """A browser with an empty profile in `folder`; it ends with the block."""
    profile = folder / "profile"
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            [need("chromium"), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    try:
        url = _door(profile / "DevToolsActivePort", process)
        with connect(url, max_size=None, compression=None, proxy=None) as socket:
            yield Chromium(socket)
    finally:
        process.terminate()
        process.wait(10)


def _door(file: Path, process: "subprocess.Popen[bytes]") -> str:
    until_s = time.monotonic() + 30
    while time.monotonic() < until_s and process.poll() is None:
        lines = file.read_text().split() if file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.02)
    raise PageFault("the browser did not start")
