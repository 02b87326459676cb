"""A headless chromium, driven over a pipe by its DevTools protocol."""

import base64
import fcntl
import json
import os
import select
import signal
import time
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
)
PATIENCE = 60.0
"Seconds to wait for an answer before the browser is taken for dead."


class Browser:
    """One page in one browser; `events` are what it reported since it was opened."""

    def __init__(self, program: str, profile: Path) -> None:
        # The browser reads commands from file descriptor 3 and writes answers to 4.
        (their_input, self._output), (self._input, their_output) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (their_input, their_output)]
        silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        self._process = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[*silent, *((os.POSIX_SPAWN_DUP2, end, 3 + i) for i, end in enumerate(ends))],
        )
        for end in (*ends, their_input, their_output):
            os.close(end)
        self._pending = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Ends the browser, which stops when its pipe does."""
        os.close(self._output)
        os.close(self._input)
        until = time.monotonic() + 10
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(0.05)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and returns its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._output, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._last:
            self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._input], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            chunk = os.read(self._input, 1 << 16)
            assert chunk, "the browser has ended"
            self._pending += chunk
        message, _, self._pending = self._pending.partition(b"\0")
        return json.loads(message)

    def open(self, page: Path | str, *, width: int, theme: str = "light") -> None:
        """Shows a file or a URL in a window `width` pixels wide and waits until it is loaded."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", media="", features=features)
        self.call("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def wait_for(self, expression: str) -> Any:
        """The value of a JavaScript expression as soon as it is true of the page, which may still be rendering."""
        until = time.monotonic() + PATIENCE
        while not (found := self.evaluate(expression)):
            text = "document.body.innerText.slice(0, 2000)"
            assert time.monotonic() < until, f"in vain for {expression}, on\n{self.evaluate(text)}"
            time.sleep(0.05)
        return found

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, as plain data."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        for kind in ("rawKeyDown", "keyUp"):
            code = {"Tab": 9, "Enter": 13}[key]
            text = {"text": "\r"} if key == "Enter" and kind == "rawKeyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type="keyDown" if text else kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **text,
            )

    def screenshot(self, full: bool = True) -> bytes:
        """The page as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        return base64.b64decode(found["data"])

    def pdf(self) -> bytes:
        """The page as printed on A4."""
        size = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        return base64.b64decode(self.call("Page.printToPDF", **size)["data"])
