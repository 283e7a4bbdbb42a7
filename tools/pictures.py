#!/usr/bin/env python3
"""Creates the README's pictures of `lapwing top` and the web page, both with the same buses.

    tools/pictures.py build/release/lapwing docs/images FEED.dbn.zst [FEED.dbn.zst]

Needs the packages of deploy/monitoring/setup.sh. Writes page.png and top.png; check both images.
"""

import html
import pathlib
import shutil
import sys
import time

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, for any python3
import pexpect
import pyte
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deploy"))
import operate_demo

COLUMNS, ROWS = 116, 13
SETTLE_SECONDS = 40  # until charts have data, and the slow subscriber is behind
PAGE = (1280, 1045)
COLOURS = {"default": "#d6dbe1", "black": "#5c6773", "red": "#ff6b68", "green": "#7fd17f", "brown": "#e6b450",
           "blue": "#6cb6ff", "magenta": "#d69cff", "cyan": "#66d9e8", "white": "#ffffff"}
GROUND = "#11161c"


def terminal(lapwing, buses):
    """The screen of `lapwing top` in the subscribers view, as HTML."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    child = pexpect.spawn(lapwing, ["top", *buses], dimensions=(ROWS, COLUMNS),
                          env={"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin"})
    child.send("2")
    until = time.monotonic() + 6
    while time.monotonic() < until:
        try:
            stream.feed(child.read_nonblocking(65536, 0.5))
        except pexpect.TIMEOUT:
            pass
    child.send("q")
    child.expect(pexpect.EOF)
    lines = ["".join(cell_html(screen.buffer[row][column]) for column in range(COLUMNS)) for row in range(ROWS)]
    return (f"<body style='margin:0;background:{GROUND}'><pre style='margin:14px;display:inline-block;"
            f"font:14px/1.35 DejaVu Sans Mono,monospace'>" + "\n".join(lines) + "</pre>")


def cell_html(cell):
    front, back = COLOURS.get(cell.fg, COLOURS["default"]), COLOURS.get(cell.bg, GROUND)
    if cell.bg == "default":
        back = GROUND
    if cell.reverse:
        front, back = back, front
    weight = "bold" if cell.bold else "normal"
    return f"<span style='color:{front};background:{back};font-weight:{weight}'>{html.escape(cell.data)}</span>"


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     "--disable-background-networking"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def show(page, size):
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                         {"width": size[0], "height": size[1], "deviceScaleFactor": 2, "mobile": False})


def main():
    lapwing, folder, *feeds = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    desk = operate_demo.Desk(str(pathlib.Path(lapwing).resolve()), [pathlib.Path(feed).resolve() for feed in feeds])
    page = None
    try:
        desk.publish()
        desk.subscribe()
        address = desk.serve()
        page = browser()
        show(page, PAGE)
        page.get(address)
        time.sleep(2)
        page.execute_script("location.hash = arguments[0]", f"bus={desk.bus('futures')}")
        time.sleep(SETTLE_SECONDS)
        page.save_screenshot(str(folder / "page.png"))
        text = terminal(desk.lapwing, [word for name in operate_demo.NAMES for word in ("--bus", desk.bus(name))])
        own = desk.folder / "top.html"
        own.write_text(text)
        page.get(own.as_uri())
        box = page.execute_script("const r = document.querySelector('pre').getBoundingClientRect();"
                                  "return [Math.ceil(r.right + 14), Math.ceil(r.bottom + 14)]")
        show(page, box)
        page.save_screenshot(str(folder / "top.png"))
        return 0
    finally:
        if page is not None:
            page.quit()
        desk.end()


if __name__ == "__main__":
    sys.exit(main())
