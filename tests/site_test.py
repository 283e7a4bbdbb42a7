#!/usr/bin/env python3
"""Builds the documentation site, checks its links, and opens its files in Chromium.

LAPWING_SITE_PNGS is a directory for screenshots of each kind of page, in both widths and themes.
"""

import html.parser
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, for any python3
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

ROOT = Path(__file__).resolve().parents[1]
SITE = Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build")).resolve() / "site"
SKIPPED = 77
SCREEN, PHONE = 1400, 390  # widths
WAIT_SECONDS = 30
PAGES = (  # one of each kind
    "index.html",
    "tutorial/1-first-bus.html",
    "how-to/monitor-with-prometheus.html",
    "reference/file-formats.html",
    "explanation/memory-model.html",
    "explanation/comparison.html",
    "explanation/adr/0009-channels-wake-by-socket.html",
    "faq.html",
    "project/index.html",
    "project/examples/logger.cc.html",
    "project/bindings/python/index.html",
    "cpp/classlapwing_1_1Subscriber.html",
    "java/lapwing/Subscriber.html",
    "rust/lapwing/struct.Subscriber.html",
)
WORDS = {  # terms that the search must find, each with a page that contains it
    "overwritten": "reference/glossary.html",
    "LapwingJournalLagging": "how-to/monitor-with-prometheus.html",
    "first bus": "tutorial/1-first-bus.html",
    "Kubernetes": "faq.html",
    "install": "project/index.html",
}
SEARCH = """
const field = document.querySelector('input[data-md-component=search-query]');
field.focus();
field.value = arguments[0];
for (const name of ['input', 'keyup']) field.dispatchEvent(new Event(name, {bubbles: true}));"""
FOUND = """
return [...document.querySelectorAll('a.md-search-result__link')].map(link => link.href.split('#')[0])"""
ELSEWHERE_IN_CSS = r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]*)"
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(html.parser.HTMLParser):
    """The links on a page, the files that it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.loads, self.anchors = path, [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if attributes.get(LOADING.get(tag)):
            self.loads.append(attributes[LOADING[tag]])


def is_elsewhere(url):
    return bool(urlsplit(url).netloc) or urlsplit(url).scheme not in ("", "javascript")


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {path: Page(path) for path in SITE.rglob("*.html") if path.name != "404.html"}

    def test_links(self):
        """The target of each link is a file in the site, and an anchor in that file."""
        broken, count = [], 0
        for page in self.pages.values():
            for link in page.links + page.loads:
                url = urlsplit(link)
                if url.netloc or url.scheme:
                    continue
                count += 1
                path = Path(os.path.normpath(page.path.parent / unquote(url.path))) if url.path else page.path
                anchors = self.pages[path].anchors | {"", "__top"} if path in self.pages else {""}
                # Doxygen links to anchors of members that it hides, and rustdoc to ranges of lines.
                is_checked = not page.path.is_relative_to(SITE / "cpp") and "rust/src" not in str(path)
                names = {url.fragment, unquote(url.fragment)}  # rustdoc's anchors contain %3C
                if not path.is_file() or (is_checked and not names & anchors):
                    broken.append(f"{page.path.relative_to(SITE)}: {link}")
        print("\n".join(broken))
        print(f"{count} links in {len(self.pages)} pages, {len(broken)} broken")
        self.assertGreater(count, 10_000)
        self.assertEqual(broken, [])

    def test_nothing_is_loaded_from_elsewhere(self):
        found = [f"{page.path}: {url}" for page in self.pages.values()
                 for url in page.loads if is_elsewhere(url)]
        for path in SITE.rglob("*.css"):
            text = path.read_text(encoding="utf-8")
            found += [f"{path}: {url}" for url in re.findall(ELSEWHERE_IN_CSS, text)]
        self.assertEqual(found, [])


class Opened(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage", "--disable-background-networking"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        cls.addClassCleanup(cls.browser.quit)

    def resize(self, width, height=900):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width == PHONE})

    def open(self, page):
        self.browser.get((SITE / page).as_uri())

    def test_the_search_finds_words_and_nothing_is_requested(self):
        self.browser.get_log("performance")
        self.resize(SCREEN)
        for page in PAGES:
            self.open(page)
        for word, page in WORDS.items():
            self.open(PAGES[0])
            self.browser.execute_script(SEARCH, word)
            end = time.monotonic() + WAIT_SECONDS
            while True:
                found = self.browser.execute_script(FOUND)
                if any(link.partition("?")[0].endswith(f"/{page}") for link in found):
                    break
                self.assertLess(time.monotonic(), end, f"{word} of {page} is not in {found}")
                time.sleep(0.1)
        requests = [message["params"]["request"]["url"]
                    for message in (json.loads(entry["message"])["message"]
                                    for entry in self.browser.get_log("performance"))
                    if message["method"] == "Network.requestWillBeSent"]
        self.assertGreater(len(requests), len(PAGES))
        self.assertEqual([url for url in requests if not url.startswith(("file:", "data:", "blob:"))], [])
        self.assertEqual([entry for entry in self.browser.get_log("browser")
                          if entry["level"] in ("SEVERE", "WARNING")], [])

    def test_every_kind_of_page_fits_a_screen_and_a_phone(self):
        for width, scheme, page in itertools.product((SCREEN, PHONE), ("light", "dark"), PAGES):
            self.resize(width)
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.open(page)
            used = self.browser.execute_script("return document.documentElement.scrollWidth")
            if not page.startswith(("cpp/", "java/")):  # these pages are not made for phones
                self.assertLessEqual(used, width, page)
            if "LAPWING_SITE_PNGS" in os.environ:
                folder = Path(os.environ["LAPWING_SITE_PNGS"])
                folder.mkdir(parents=True, exist_ok=True)
                name = page.removesuffix(".html").replace("/", "-")
                self.browser.save_screenshot(str(folder / f"{name}-{width}-{scheme}.png"))


def main():
    required = os.environ.get("LAPWING_REQUIRE_REGISTRIES") == "1"
    if webdriver is None or shutil.which("chromedriver") is None:
        print("SKIPPED: Chromium is not installed; deploy/monitoring/setup.sh installs it")
        return 1 if required else SKIPPED
    built = subprocess.run(["tools/docs.sh", "--strict"], cwd=ROOT, check=False)
    if built.returncode != 0:
        return built.returncode
    return unittest.main(verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
