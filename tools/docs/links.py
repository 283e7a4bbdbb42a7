"""Adds files outside docs/ to the site if a page links to them, as project/PATH.

Markdown becomes a page, source code becomes a page that shows it, and a picture stays a picture.
The links on all pages are rewritten here, so that the pages also work on GitHub.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: |\b(?:src|href)=\")(?![a-z]+:|#|/)([^)\s#\"]+)(?=[)\s#\"])", re.M)
PLAIN = (".md", ".png", ".svg")
LANGUAGES = {".cc": "cpp", ".h": "cpp"}  # others have the name of their suffix


def in_tree(page, target):
    """The path in the tree of a link's target, or None if there is no such file."""
    path = Path(os.path.normpath(ROOT / Path(page).parent / target))
    path = path / "README.md" if path.is_dir() else path
    return path.relative_to(ROOT).as_posix() if path.is_file() and path.is_relative_to(ROOT) else None


def in_site(path):
    """The path in the site of a file in the tree."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"project/{path}" + ("" if path.endswith(PLAIN) else ".md")


def of_tree(uri):
    """The opposite of in_site, for Markdown."""
    return uri.removeprefix("project/") if uri.startswith("project/") else f"docs/{uri}"


def with_folders(nav):
    """The navigation, with each folder's name replaced by its pages."""
    if isinstance(nav, list):
        return [with_folders(entry) for entry in nav]
    if isinstance(nav, dict):
        return {title: with_folders(entry) for title, entry in nav.items()}
    names = sorted(path.name for path in (ROOT / "docs" / nav).glob("[0-9]*.md"))
    return [nav + name for name in ("README.md", *names)] if nav.endswith("/") else nav


def on_config(config):
    config.nav = with_folders(config.nav)


def on_files(files, config):
    waiting = [of_tree(uri) for uri in re.findall(r"project/[\w./-]+", str(config.nav))]
    waiting += [of_tree(file.src_uri) for file in files.documentation_pages()]
    while waiting:
        path = waiting.pop()
        uri, source = in_site(path), ROOT / path
        if uri not in files.src_uris:
            content = {"abs_src_path": str(source)}
            if not path.endswith(PLAIN):
                language = LANGUAGES.get(source.suffix, source.suffix[1:])
                content = {"content": f"# {path}\n\n`````{language}\n{source.read_text()}`````\n"}
            files.append(File.generated(config, uri, inclusion=InclusionLevel.NOT_IN_NAV, **content))
        if path.endswith(".md"):
            linked = {in_tree(path, link[2]) for link in LINK.finditer(source.read_text())} - {None}
            waiting += [target for target in linked if in_site(target) not in files.src_uris]
    references = Path(os.environ["LAPWING_REFERENCES"])
    for folder, name in ((Path(os.environ["LAPWING_DOXYGEN_OUTPUT"], "html"), "cpp"),
                         (references / "java", "java"), (references / "rust", "rust")):
        for path in filter(Path.is_file, folder.rglob("*")):
            files.append(File.generated(config, f"{name}/{path.relative_to(folder)}", abs_src_path=str(path),
                                        inclusion=InclusionLevel.NOT_IN_NAV))  # some contain Markdown


def on_page_markdown(markdown, page, **_):
    path, folder = of_tree(page.file.src_uri), os.path.dirname(page.file.src_uri)

    def rewritten(match):
        target = in_tree(path, match[2])
        return match[0] if target is None else match[1] + os.path.relpath(in_site(target), folder)

    return LINK.sub(rewritten, markdown) if (ROOT / path).is_file() else markdown
