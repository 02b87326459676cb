"""`ablate guide`: the pages of `pages/`, in the terminal."""

import re
import sys
from pathlib import Path

import click

# One file a topic: its title as the only heading of the first level, then a line that says what it is about.
PAGES = Path(__file__).parent / "pages"
WIDTH = 100


def topics() -> list[str]:
    """Returns the names of the pages."""
    return sorted(path.stem for path in PAGES.glob("*.md"))


@click.command("guide")
@click.argument("topic", required=False, type=click.Choice(topics()), metavar="[TOPIC]")
def command(topic: str | None) -> None:
    """Read about a topic, or list the topics.

    TOPIC is one of those that `ablate guide` lists, for instance `verdicts`.
    """
    if topic is None:
        _list_topics()
        return
    page = rendered(text_of(topic))
    if sys.stdin.isatty() and sys.stdout.isatty():
        click.echo_via_pager(page)
    else:
        click.echo(page, nl=False)


def _list_topics() -> None:
    """Prints each topic with the line that says what it is about."""
    width = max(map(len, topics()))
    for name in topics():
        summary = text_of(name).splitlines()[2]
        click.echo(f"  {name:{width}}  {summary}")
    click.echo("\nRead one with: ablate guide TOPIC")


def text_of(topic: str) -> str:
    """Returns a page as markdown."""
    return (PAGES / f"{topic}.md").read_text(encoding="utf-8")


def rendered(text: str, width: int | None = None) -> str:
    """Returns markdown as a terminal shows it, in lines of `width` or at most `WIDTH` characters."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=width or min(Console().width, WIDTH))
    # Pictures are for a browser.
    without_pictures = re.sub(r"!\[[^]]*\]\([^)]*\)\s*", "", text)
    with console.capture() as capture:
        console.print(Markdown(without_pictures, hyperlinks=False))
    return capture.get()
