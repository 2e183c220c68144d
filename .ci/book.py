#!/usr/bin/env python3
"""Links of the book that mdBook makes of docs/ (book.toml).

As its preprocessor (`book.py supports RENDERER`, then a book in JSON on standard input) it points links that leave docs/, or
name a directory, at the repository, and links to a README.md at the index.md that mdBook makes of it.
https://rust-lang.github.io/mdBook/for_developers/preprocessors.html

`book.py check DIRECTORY` fails if a page of docs/ is not in the built book, or if a page of the book has a link within the book
whose file or heading does not exist.
"""

import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = re.search(r'^repository = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def for_the_book(link: str, chapter: str) -> str:
    """A link of a chapter of docs/, as the book needs it."""
    path, hash_sign, anchor = link.partition("#")
    if not path or "://" in path:
        return link
    file = os.path.normpath(f"docs/{os.path.dirname(chapter)}/{path}")
    if not file.startswith("docs/") or (ROOT / file).is_dir():
        return f"{REPOSITORY}/blob/HEAD/{file}{hash_sign}{anchor}"
    return re.sub(r"\bREADME\.md$", "index.md", path) + hash_sign + anchor


def rewrite(items: list) -> None:
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter and chapter["source_path"]:
            link = lambda found: f"]({for_the_book(found[1], chapter['source_path'])})"
            parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", chapter["content"], flags=re.M | re.S)
            # Code, in the odd parts, stays: a link's text may have some, its target has none.
            parts[::2] = [re.sub(r"\]\(([^)\s]+)\)", link, part) for part in parts[::2]]
            chapter["content"] = "".join(parts)
            rewrite(chapter["sub_items"])


class Page(HTMLParser):
    """The anchors of a page, and the links that it has."""

    def __init__(self, file: Path):
        super().__init__()
        self.anchors, self.links = {""}, []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(book: Path) -> list[str]:
    # All pages in one, and the page for a missing address, whose links are absolute.
    left_out = ("print.html", "404.html")
    pages = {file: Page(file) for file in sorted(book.rglob("*.html")) if file.name not in left_out}
    chapters = [file.relative_to(ROOT / "docs") for file in sorted(ROOT.glob("docs/**/*.md")) if file.name != "SUMMARY.md"]
    as_page = lambda chapter: book / chapter.with_name(chapter.name.replace("README.md", "index.md")).with_suffix(".html")
    broken = [f"docs/SUMMARY.md: lacks {chapter}" for chapter in chapters if as_page(chapter) not in pages]
    for file, page in pages.items():
        for link in page.links:
            target = urlsplit(link)
            path = Path(os.path.normpath(file.parent / unquote(target.path))) if target.path else file
            if target.scheme or target.netloc or path.name in left_out:
                continue
            inside = path.is_relative_to(book) and path.is_file()
            if not inside or (path in pages and unquote(target.fragment) not in pages[path].anchors):
                broken.append(f"{file.relative_to(book)}: {link}")
    return broken


def main() -> int:
    if sys.argv[1:2] == ["supports"]:
        return 0
    if sys.argv[1:2] == ["check"]:
        broken = broken_links(Path(sys.argv[2]).resolve())
        print("\n".join(broken) or "every link within the book leads somewhere")
        return 1 if broken else 0
    _, book = json.load(sys.stdin)
    rewrite(book["items"])
    json.dump(book, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
