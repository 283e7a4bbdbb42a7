"""Renders Markdown as GitHub does, and shows adjacent code blocks of several languages as tabs.

MkDocs uses Python-Markdown, which differs from CommonMark. The content of a list item is indented
by 4. A list or an item cannot directly follow a paragraph. `\\|` in code in a table is two
characters. A heading loses a trailing #.
"""

import re

INDENT = 4
ITEM = re.compile(r"([-*+]|\d+\.) +")
LANGUAGES = {"c": "C", "cpp": "C++", "csharp": "C#", "go": "Go", "java": "Java", "js": "JavaScript",
             "kotlin": "Kotlin", "python": "Python", "rust": "Rust", "ts": "TypeScript"}
BLOCK = r"```(" + "|".join(LANGUAGES) + r")\n((?:(?!```).*\n)*)```\n"
BLOCKS = re.compile(rf"^{BLOCK}(?:\n{BLOCK})+", re.M)


def outside_code(line):
    line = re.sub(r"^(#+ .*\S)#$", r"\1\\#", line)
    if line.startswith("|"):
        line = re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), line)
    return line


def converted(lines):
    """The lines of a page, for Python-Markdown."""
    columns = []  # column of the text of each enclosing list item
    fence, before, in_one_block = None, "", False
    for line in lines:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        depth = len(columns)
        while fence is None and text and columns and indent < columns[-1]:
            columns.pop()
        column, new_column = columns[-1] if columns else 0, INDENT * len(columns)
        if fence is not None:
            fence = None if text.startswith(fence) else fence
        elif text.startswith("```"):
            fence = re.match("`+", text)[0]
        elif indent - column < INDENT:
            text = outside_code(text)
            item = ITEM.match(text)
            levels_ended = depth - len(columns)
            if item and (not before or levels_ended or item[1] in ("-", "*", "+", "1.")):
                if before and not (levels_ended == 1 and in_one_block):
                    yield ""
                columns.append(indent + item.end())
                in_one_block = True
            elif item:
                text = text.replace(".", r"\.", 1)  # a number at the end of a sentence
        in_one_block = in_one_block and bool(text)
        before = " " * (new_column + max(0, indent - column)) + text if text else ""
        yield before


def tabs(match):
    return "\n".join(f'=== "{LANGUAGES[language]}"\n\n' + "".join(
        f"    {line}\n" for line in [f"```{language}", *code.splitlines(), "```"])
        for language, code in re.findall(BLOCK, match[0]))


def on_page_markdown(markdown, **_):
    return BLOCKS.sub(tabs, "\n".join(converted(markdown.splitlines())) + "\n")
