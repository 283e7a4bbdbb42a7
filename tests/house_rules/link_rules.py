"""Rules about the links of Markdown pages: each leads to a file of the tree, and to a heading in it."""

import posixpath
import re
from urllib.parse import unquote

_CODE = re.compile(
    r"^(```|~~~).*?^\1[^\n]*$|^(?: {4}|\t)[^\n]*$|(`+)(?!`)(?:[^\n]|\n(?!\n))+?(?<!`)\2(?!`)"
    r"|<!--.*?-->", re.M | re.S)
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)
_INLINE = r"\]\(\s*<?([^()<>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)"
_REFERENCE = r"\[[^\[\]]+\]\[([^\[\]]+)\]"
_DEFINITION = r"^ {0,3}\[([^\[\]]+)\]:\s+<?(\S+?)>?\s*$"
_HTML = r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\""
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.M)
_NAMED = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")
_URL = re.compile(r"[a-z][a-z+.-]*:|//", re.I)


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def anchors_of(text):
    """The anchors of a page's headings, as GitHub makes them."""
    text = _FENCE.sub(_blank, text)
    anchors, counts = set(_NAMED.findall(text)), {}
    for heading in _HEADING.findall(text):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = counts.get(slug, 0)
        counts[slug] = count + 1
        anchors.add(f"{slug}-{count}" if count else slug)
    return anchors


def _targets(source):
    """(line, target) of each link of a page, and (line, None) of each reference without a definition."""
    text = _CODE.sub(_blank, source.text)
    for pattern, group in ((_INLINE, 1), (_HTML, 1), (_DEFINITION, 2)):
        for line, match in source.search(pattern, text):
            yield line, match[group]
    defined = {match[1].lower() for _, match in source.search(_DEFINITION, text)}
    for line, match in source.search(_REFERENCE, text):
        if match[1].lower() not in defined:
            yield line, None


def links_lead_somewhere(tree):
    """A relative link in a page leads to a file or folder of the tree, and its anchor to a heading."""
    anchors = {}
    for source in tree:
        if not source.path.endswith(".md"):
            continue
        for line, target in _targets(source):
            if target is None:
                yield source.finding(line, "a link's reference is not defined")
                continue
            if _URL.match(target):
                continue
            path, _, anchor = unquote(target).partition("#")
            folder = posixpath.dirname(source.path)
            page = posixpath.normpath(posixpath.join(folder, path)) if path else source.path
            page = "" if page == "." else page
            if page not in tree.paths:
                yield source.finding(line, f"{target}: there is no {page}")
            elif anchor and page in tree and page.endswith(".md"):
                if page not in anchors:
                    anchors[page] = anchors_of(tree[page].text)
                if anchor not in anchors[page]:
                    yield source.finding(line, f"{target}: {page} has no heading #{anchor}")


def pages_are_listed(tree):
    """docs/index.md links to every page of docs/, and the README of the decisions to each decision."""
    for index, pages in (("docs/index.md", r"docs/(?!explanation/adr/\d).+\.md"),
                         ("docs/explanation/adr/README.md", r"docs/explanation/adr/\d.+\.md")):
        if index not in tree:
            continue
        folder = posixpath.dirname(index)
        linked = {posixpath.normpath(posixpath.join(folder, target.partition("#")[0]))
                  for _, target in _targets(tree[index]) if target}
        for source in tree:
            if re.fullmatch(pages, source.path) and source.path not in {index, *linked}:
                yield tree[index].finding(1, f"{source.path} is not listed")


RULES = [links_lead_somewhere, pages_are_listed]
