"""A page in a real browser: Chromium without a window, driven over a pipe."""

import base64
import json
import os
import shutil
import subprocess
from itertools import count
from pathlib import Path


def find_chromium():
    """The path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page; what it logs to its console is kept."""

    def __init__(self, folder: Path):
        to_us, from_browser = os.pipe()
        to_browser, from_us = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        flags += ["--no-first-run", "--hide-scrollbars", f"--user-data-dir={folder}"]

        def place_pipes():  # the browser reads from 3 and writes to 4
            low = (os.dup(to_browser), os.dup(from_browser))
            for given, wanted in zip(low, (3, 4), strict=True):
                os.dup2(given, wanted, inheritable=True)

        self.process = subprocess.Popen(
            [find_chromium(), *flags],
            preexec_fn=place_pipes,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.reader, self.writer = os.fdopen(to_us, "rb", 0), os.fdopen(from_us, "wb", 0)
        self.numbers, self.rest, self.complaints = count(1), b"", []
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        """Send a command; its answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == number:
                assert "error" not in found, found["error"]
                return found["result"]

    def _read(self):
        while b"\0" not in self.rest:
            piece = self.reader.read(1 << 16)
            assert piece, "the browser is gone"
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(line)
        self._note(message)
        return message

    def _note(self, message):
        kind, params = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["text"])
        elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif kind == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif kind == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "about:", "data:")):
                self.complaints.append(f"asked for {url}")
        elif kind == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog opened")
            self.dialog = params["message"]

    def open(self, path: Path, *, width=1200, height=900, scheme="light"):
        """Load a page at a size and in a colour scheme."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while self.run("document.readyState") != "complete":
            pass

    def run(self, expression):
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def click(self, selector):
        """A real click in the middle of an element."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(
            f"(() => {{ const box = {found}.getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", type=kind, **where)

    def move(self, x, y):
        """The mouse to a place of the window."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: Path, *, whole=False):
        """What is seen, or all of the page, as a PNG file."""
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def print(self, path: Path):
        """The page on paper, as a PDF file."""
        found = self.ask("Page.printToPDF", printBackground=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.reader.close()
        self.writer.close()
