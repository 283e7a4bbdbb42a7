"""Tests the page of `lapwing serve` in headless Chromium without a network.

LAPWING_PAGE_PNGS is a directory for a screenshot of each view.
"""

import decimal
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.parse

import harness
from serve_test import TOKEN, ServeTest

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, for any python3
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

SCREEN, PHONE = (1280, 800), (390, 844)
DEPTH = 20
WEB = pathlib.Path(__file__).resolve().parents[2] / "monitor" / "web"
HEAP_FACTOR_MAX = 1.2
MESSAGES_FEW, MESSAGES_MANY = 10_000, 100_000

# The contents of the ladder and the depth chart at one moment.
SHOWN = """
const ladder = document.querySelector('.ladder');
const side = name => [...ladder.querySelectorAll('tr.of_' + name)].map(row => ({
  price: row.dataset.price, size: row.dataset.size, orders: row.dataset.orders,
  text: [...row.cells].map(cell => cell.textContent)}));
const panel = ladder.closest('.panel');
return {sequence: panel.dataset.sequence, instrument: panel.dataset.instrument,
        bids: side('bid'), asks: side('ask'),
        depth: [...document.querySelectorAll('.market svg rect')].map(step =>
            [step.getAttribute('class'), step.dataset.price, step.dataset.sum])};
"""


def number(text):
    """The exact value of a text like "4,810.25"."""
    return decimal.Decimal(text.replace(",", ""))


def start_browser(test, *arguments):
    """Headless Chromium, which ends with the test."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--disable-dev-shm-usage", "--disable-background-networking", *arguments):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    test.addCleanup(browser.quit)
    return browser


def picture(browser, name):
    folder = os.environ.get("LAPWING_PAGE_PNGS")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        browser.save_screenshot(str(pathlib.Path(folder) / f"{name}.png"))


class PageTest(ServeTest):
    """A test with a browser in which the token has been entered."""

    def open(self, fragment="buses", size=SCREEN):
        self.browser = start_browser(self)
        self.resize(size)
        self.begin_log()
        self.enter(fragment)

    def begin_log(self):
        self.requests, self.errors = [], []

    def enter(self, fragment):
        self.browser.get(f"http://127.0.0.1:{self.port}/#token={TOKEN}")
        self.until_page("a reading", "return document.querySelector('#clock').textContent !== ''")
        # Before the token was entered, the page's requests were refused, as intended.
        self.read_log()
        self.errors = [error for error in self.errors if "401" not in error]
        self.show(fragment)

    def resize(self, size):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE})

    def show(self, fragment):
        self.run_script("location.hash = arguments[0]", fragment)

    def show_bus(self, bus):
        self.show(urllib.parse.urlencode({"bus": bus}))

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def until_page(self, what, script, *arguments):
        return self.until(what, lambda: self.run_script(script, *arguments))

    def hide(self):
        """A hidden page sends no requests."""
        self.set_hidden("true")
        self.until("no client", lambda: self.metric("lapwing_http_stream_clients") == 0)

    def unhide(self):
        self.set_hidden("false")
        self.until("a client", lambda: self.metric("lapwing_http_stream_clients") == 1)

    def set_hidden(self, value):
        self.run_script(f"""
            Object.defineProperty(document, 'hidden', {{configurable: true, get: () => {value}}});
            document.dispatchEvent(new Event('visibilitychange'))""")

    def text(self, selector):
        """The visible text of an element; "" if it is absent or hidden."""
        return self.run_script("""
            const node = document.querySelector(arguments[0]);
            return node?.checkVisibility() ? node.innerText : ''""", selector)

    def until_text(self, selector, *parts):
        def found():
            text = self.text(selector)
            return text if all(part in text for part in parts) else None
        return self.until(f"{parts} in {selector}", found)

    def picture(self, name):
        picture(self.browser, name)

    def read_log(self):
        for entry in self.browser.get_log("browser"):
            if entry["level"] in ("SEVERE", "WARNING"):
                self.errors.append(entry["message"])
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            parameters = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                self.requests.append(parameters["url"])

    def assert_clean(self):
        """Asserts that there are no errors on the console, and no requests to another host."""
        self.read_log()
        self.assertEqual(self.errors, [])
        self.assertTrue(self.requests)
        for url in self.requests:
            self.assertIn(urllib.parse.urlsplit(url).netloc, (f"127.0.0.1:{self.port}", ""), url)

    def assert_fits(self):
        """Asserts that the page is not wider than the screen: only tables scroll."""
        wide = self.run_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(*wide)

    def publish_es(self, *more):
        """Publishes the live ES feed, which ends with the test."""
        bus = str(self.folder / "es")
        feed = harness.feed_file("mbo", "esh4-glbx-mdp3-20231225.mbo.dbn.zst")
        process = self.start("publish-es", "publish", "--bus", bus, "--source", f"dbn:{feed}",
                             "--capacity", 1 << 16, "--linger", f"{harness.HANG_SECONDS}s", *more)
        self.until("the bus", lambda: os.path.exists(f"{bus}/bus.json"))
        return bus, process


class Views(PageTest):
    def test_each_view_of_a_live_feed(self):
        bus, _ = self.publish_es("--pace", 2000)
        signals = str(self.folder / "signals")
        described = harness.Running(
            [f"{os.environ['LAPWING_BUILD_DIR']}/tests/signals", signals, "1", "live"], self.folder,
            "signals", stdin=subprocess.PIPE)
        self.running.append(described)
        self.addCleanup(described.process.stdin.close)
        self.until("the other bus", lambda: os.path.exists(f"{signals}/bus.json"))
        self.start("tail", "tail", "--bus", bus, "--format", "none")
        self.start("measured", "tail", "--bus", signals, "--measure", 1, "--format", "none")
        self.serve("--bus", bus, "--bus", signals)
        self.open()

        self.until_text("#summary", "2 of 2 buses run, 2 subscribers")
        self.until_text("#view", "es", "running", "tail", "attached")
        head = self.until_page("a head", """
            const row = [...document.querySelectorAll('table[aria-label=Buses] tbody tr')][0];
            return Number(row.cells[4].textContent.replaceAll(',', ''))""")
        newest = json.loads(self.ask("/api/v1/buses")[2])["buses"][0]["ring"]["head"]
        self.assertLessEqual(head, newest)
        self.until_page("a line of the rate", """
            const canvas = document.querySelector('canvas.spark');
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return data.some(value => value !== 0)""")
        self.assert_fits()
        self.picture("buses")

        self.show_bus(bus)
        self.until_text(".market", "ESH4", "behind")
        self.until_page("both sides of a book and trades", """
            return document.querySelectorAll('.of_bid').length > 0
                && document.querySelectorAll('.of_ask').length > 0
                && document.querySelectorAll('.tape tbody tr').length > 0""")
        self.until_text("section[aria-label=Quotes]", "ESH4")
        self.until_page("four charts", "return document.querySelectorAll('.chart canvas').length >= 4")
        self.until_text("section[aria-label=Latency]", "No subscriber reports ages")
        self.assert_fits()
        self.picture("bus")
        self.resize(PHONE)
        self.until_page("a narrow page", "return innerWidth < 400")
        self.assert_fits()
        self.picture("phone")
        self.resize(SCREEN)

        self.show_bus(signals)
        self.until_text("section[aria-label=Latency]", "p99")
        self.until_page("a heat map", """
            const canvas = document.querySelector('canvas.heat');
            const {data} = canvas.getContext('2d').getImageData(
                canvas.width / 2, 0, canvas.width / 2, canvas.height - 20);
            return data.some(value => value !== 0)""")
        self.until_text("section[aria-label='Newest records']", "desk.fill")
        self.assert_fits()
        self.picture("records")

        self.show("events")
        self.until_text("#view", "attached", "tail (pid")
        self.assert_fits()
        self.picture("events")
        self.assert_clean()

    def test_charts_outlive_a_reload(self):
        bus, _ = self.publish_es("--pace", 2000)
        self.serve("--bus", bus)
        self.open()

        def times():
            return self.run_script("""
                return import('/page.js').then(({readings}) => {
                  const times = readings.series.get(arguments[0]).bus.times;
                  return Array.from({length: times.size}, (_, i) => times.at(i));
                })""", bus)
        self.until("three readings", lambda: len(times()) >= 3)
        before = times()
        self.browser.refresh()
        self.until_text("#summary", "1 of 1 bus runs")
        self.until("the readings before the reload", lambda: times()[0] <= before[1])
        after = times()
        self.assertEqual(after, sorted(set(after)))
        self.assert_clean()

    def test_ladder_and_depth_are_the_book(self):
        bus, publisher = self.publish_es("--pace", 500)
        self.serve("--bus", bus)
        self.open()
        self.show_bus(bus)
        self.until_page("a book", "return document.querySelectorAll('.of_bid').length > 5")
        seen = {}
        while len(seen) < 5:
            shown = self.run_script(SHOWN)
            seen[int(shown["sequence"])] = shown
            last = max(seen)
            self.until_page("the next view", """
                return Number(document.querySelector('.ladder').closest('.panel').dataset.sequence)
                    > arguments[0]""", last)
        self.assertTrue(publisher.alive())
        for sequence, shown in seen.items():
            self.assert_book(bus, sequence, shown)
        self.assert_clean()

    def assert_book(self, bus, sequence, shown):
        done = self.run_to_end(f"book-{sequence}", "book", "--bus", bus, "--json", "--depth", DEPTH,
                               "--at", sequence, "--instrument", f'id:{shown["instrument"]}')
        book = json.loads(done.out())
        self.assertEqual(book["seq"], sequence)
        depth = []
        for name, price_column, size_column in (("bid", 3, 2), ("ask", 3, 4)):
            levels = [{key: str(level[key]) for key in ("price", "size", "orders")}
                      for level in book[f"{name}s"]]
            rows = shown[f"{name}s"]
            if name == "ask":
                rows = rows[::-1]  # the best price is at the bottom
            self.assertEqual([{key: row[key] for key in ("price", "size", "orders")} for row in rows],
                             levels, f"{name}s at {sequence}")
            total = 0
            for row, level in zip(rows, book[f"{name}s"], strict=True):
                total += level["size"]
                depth.append([name, str(level["price"]), str(total)])
                self.assertEqual(number(row["text"][price_column]) * 10**9, level["price"])
                self.assertEqual(number(row["text"][size_column]), level["size"])
        self.assertEqual(shown["depth"], depth, f"depth at {sequence}")


class Old(PageTest):
    """Old data and problems are reported."""

    def test_problems(self):
        bus, publisher = self.publish("es")
        tail = self.start("tail", "tail", "--bus", bus, "--format", "none")
        self.serve("--bus", bus)
        self.open()
        self.until_text("#summary", "1 subscriber", "No problems.")
        tail.signal(signal.SIGSTOP)
        self.until_text("#problems", "tail on es: its process is stopped")
        self.until_text("#view", "STOPPED")
        self.picture("stopped")
        self.acknowledge_and_undo()
        tail.signal(signal.SIGCONT)
        self.until_text("#summary", "No problems.")
        self.show_bus(bus)
        self.until_text(".view_status", "Sequence")
        publisher.kill()
        self.until_text("#problems", "the publisher ended without closing the bus")
        self.until_text(".view_status", "The publisher ended without closing", "as of sequence")
        self.until_page("a dimmed book", "return document.querySelector('.market.old') !== null")
        self.picture("gone")
        self.assert_clean()

    def acknowledge_and_undo(self):
        """Acknowledges the only problem with the keyboard. It stays acknowledged after a reload."""
        title = self.run_script("return document.title")
        self.assertTrue(title.startswith("(1) "), title)
        press = "document.activeElement.click()"  # like Enter
        self.run_script("document.querySelector('#problems .actions button').focus()")
        self.run_script(press)
        self.until_text("#quiet_button", "1 acknowledged")
        self.assertEqual(self.text("#problems"), "")
        self.browser.refresh()
        self.until_text("#quiet_button", "1 acknowledged")
        self.assertFalse(self.run_script("return document.title").startswith("("))
        self.run_script("document.querySelector('#quiet_button').focus()")
        self.run_script(press)
        self.until_text("#quiet", "tail on es: its process is stopped")
        self.run_script("document.querySelector('#quiet button').focus()")
        self.run_script(press)
        self.until_text("#problems", "tail on es: its process is stopped")

    def test_who_sends_to_whom(self):
        path = str(self.folder / "orders.sock")
        receiver = self.start("receiver", "pipe", "--listen", path, "--receive")
        sender = self.start("sender", "pipe", "--connect", path, *harness.WITH_PATIENCE, "--send",
                            stdin=subprocess.PIPE)
        self.addCleanup(sender.process.stdin.close)
        self.serve()
        self.open("channels")
        self.until_page("the channel", """
            const rows = [...document.querySelectorAll('table[aria-label=Channels] tbody tr')];
            const row = rows.find(row => row.cells[0].textContent === arguments[0]);
            return row && row.cells[2].textContent.includes(`(${arguments[1]})`) &&
                row.cells[3].textContent.includes(`(${arguments[2]})`)""",
            path, sender.pid, receiver.pid)
        self.assert_clean()

    def test_a_server_that_stands_or_is_gone(self):
        bus, _ = self.publish("es")
        server = self.serve("--bus", bus)
        self.open()
        self.assertEqual(self.text("#connection"), "")
        server.signal(signal.SIGSTOP)
        self.until_text("#connection", "sends no new readings", "This page shows the state at")
        server.signal(signal.SIGCONT)
        self.until("new readings", lambda: self.text("#connection") == "")
        server.kill()
        self.until_text("#connection", "Not connected to the server.", "This page shows the state at")
        self.until_text("#connection", "Next attempt in")
        self.until_page("all of it dimmed", "return document.body.classList.contains('old')")
        self.picture("not_connected")
        self.serve("--bus", bus, listen=f"127.0.0.1:{self.port}")
        self.until("a connection", lambda: self.text("#connection") == "")

    def test_a_hidden_page_asks_for_nothing(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus)
        self.open()
        self.assertEqual(self.metric("lapwing_http_stream_clients"), 1)
        self.hide()
        self.unhide()
        self.assert_clean()

    def test_a_new_version_is_loaded(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus)
        self.open()
        self.run_script("window.is_the_old_page = true")
        self.run_script("""
            import('/page.js').then(({readings, take_reading}) =>
                take_reading(JSON.stringify({...readings.newest, version: 'another'})))""")
        self.until_page("the page anew", "return window.is_the_old_page === undefined")
        self.until_text("#summary", "1 of 1 bus runs")

    def test_names_are_text(self):
        name = "<img src=x onerror=document.title='stolen'>"
        bus, _ = self.publish(name)
        self.serve("--bus", bus)
        self.open()
        self.until_text("#view", name)
        self.show_bus(bus)
        self.until_text("h1", name)
        self.until_text(".market", "Sequence")
        self.assertEqual(self.run_script("return document.querySelectorAll('img').length"), 0)
        self.assert_clean()

    def test_keys(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus)
        self.open()
        press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))"
        self.run_script(press, "e")
        self.until_page("events", "return location.hash === '#events'")
        self.run_script(press, "j")
        self.until_text("h1", "es")
        self.run_script(press, "2")
        self.assertEqual(self.run_script("return document.querySelector('#window :checked').value"), "10")
        self.run_script(press, "?")
        self.assertTrue(self.run_script("return document.querySelector('#keys').open"))
        self.run_script("document.querySelector('#keys_close').click()")
        self.assertFalse(self.run_script("return document.querySelector('#keys').open"))


class Modules(unittest.TestCase):
    def test_the_parts_without_a_document(self):
        node = shutil.which("node")
        if node is None:
            raise unittest.SkipTest("SKIPPED: node is not installed; bindings/setup.sh installs it")
        done = subprocess.run([node, "--test", str(WEB / "web_test.js")], capture_output=True,
                              text=True, timeout=harness.HANG_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Heap(PageTest):
    """The page's memory is bounded."""

    def test_many_messages(self):
        bus, _ = self.publish_es("--pace", 2000)
        self.start("tail", "tail", "--bus", bus, "--format", "none")
        self.serve("--bus", bus)
        self.open()
        self.show_bus(bus)
        self.until_text(".market", "Sequence")
        self.until_page("trades", "return document.querySelectorAll('.tape tbody tr').length > 0")

        def given(through, begin):
            self.give(through, begin)
            return self.heap()
        self.assert_levels_off(given(MESSAGES_FEW, 0), given(MESSAGES_MANY, MESSAGES_FEW))

    def test_many_messages_of_the_server(self):
        """Publishes at the maximum rate of messages. The browser counts them."""
        bus, _ = self.publish_es("--pace", 2000)
        self.start("tail", "tail", "--bus", bus, "--format", "none")
        self.serve("--bus", bus, interval="1ms")
        self.open()
        self.show_bus(bus)
        self.until_text(".market", "Sequence")
        self.received = 0

        def received(count):
            while self.received < count:
                time.sleep(1)
                self.received += sum(
                    json.loads(entry["message"])["message"]["method"] == "Network.webSocketFrameReceived"
                    for entry in self.browser.get_log("performance"))
            self.hide()  # excludes data that arrived but has not been shown
            held = self.heap()
            self.unhide()
            return held
        self.assert_levels_off(received(MESSAGES_FEW), received(MESSAGES_MANY))
        self.until("a connection", lambda: self.text("#connection") == "")

    def assert_levels_off(self, few, many):
        print(f"heap after {MESSAGES_FEW:,} messages {few:,} bytes, after {MESSAGES_MANY:,} {many:,}")
        self.assertLessEqual(many, few * HEAP_FACTOR_MAX)

    def give(self, through, begin):
        """Passes simulated messages of both streams to the page, up to a given number."""
        self.browser.set_script_timeout(3600)
        self.browser.execute_async_script("""
            const [begin, through, done] = arguments;
            (async () => {
            const page = await import('/page.js');
            const reading = window.first_reading ??= structuredClone(page.readings.newest);
            const view = window.first_view ??= structuredClone(page.newest_view());
            const start_ms = Date.parse(reading.time);
            for (let i = begin; i < through; ++i) {
              for (const bus of reading.buses) {
                bus.ring.head += 17;
                bus.rate = 1000 + i % 100;
                for (const subscriber of bus.subscribers) {
                  subscriber.lag = i % 50;
                  subscriber.latency = {count: i, p99_ns: 5000 + i % 9,
                                        buckets: [[1000, i * 3], [5000, i], [90000 + i, 1]]};
                }
              }
              reading.time = new Date(start_ms + 1000 * (i + 1)).toISOString();
              page.take_reading(JSON.stringify(reading));
              view.sequence += 17;
              for (const trade of view.trades) trade.sequence += 17;
              page.take_view(JSON.stringify(view));
              if (i % 50 === 0) await new Promise(requestAnimationFrame);
            }
            done();
            })();""", begin, through)

    def heap(self):
        """The page's heap size in bytes."""
        self.browser.execute_cdp_cmd("HeapProfiler.enable", {})
        for _ in range(3):
            self.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return self.browser.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]


if __name__ == "__main__":
    if webdriver is None or shutil.which("chromedriver") is None:
        print("SKIPPED: Chromium is not installed; deploy/monitoring/setup.sh installs it")
        sys.exit(1 if os.environ.get("LAPWING_REQUIRE_REGISTRIES") == "1" else 77)
    unittest.main(verbosity=2)
