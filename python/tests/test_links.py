"""Links of every Markdown file lead to files and headings of the repository. Nothing is fetched."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|a)\b[^>]*?(?:src|href)=\"([^\"]+)\"")


def pages():
    """Every Markdown file that is ours, and the text of tutorials and recipes."""
    places = [
        "*.md",
        "docs/*.md",
        "docs/tutorials/*.py",
        "docs/recipes/*.py",
        "python/*.md",
        "crates/*/*.md",
    ]
    return [page for place in places for page in sorted(ROOT.glob(place))]


def text_of(page):
    """What a page says outside of blocks of code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".py":
        text = re.sub(r"^# ?", "", "\n".join(re.findall(r"^#.*", text, re.M)), flags=re.M)
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)


def anchors(page):
    """The anchors of a page's headings, as GitHub and MyST name them."""
    found, text = (
        set(),
        re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S),
    )
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = next(
            n for n in range(len(found) + 1) if (f"{anchor}-{n}" if n else anchor) not in found
        )
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def broken(page):
    """What is wrong with the links of a page."""
    for match in LINK.finditer(text_of(page)):
        link = match[1] or match[2]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"{link}: there is no such file"
        elif anchor and anchor not in anchors(target):
            yield f"{link}: {target.name} has no such heading"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert list(broken(page)) == []


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One, two\n\n[a](#one-two) [b](#three) [c](none.md) [d](page.md) [e](https://example.org)\n\n"
        '```sh\n[f](none.md)\n```\n\n<img src="none.png" alt="">\n'
    )
    assert list(broken(page)) == [
        "#three: page.md has no such heading",
        "none.md: there is no such file",
        "none.png: there is no such file",
    ]
