"""`ablate guide`: the pages of `pages/`, in the terminal and as HTML."""

from __future__ import annotations

import base64
import sys
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

PAGES = Path(__file__).parent / "pages"
"""One file a topic: its title as the only heading of the first level, then a line that says what it is about."""
WIDTH = 100


def topics() -> list[str]:
    """The names of the pages."""
    return sorted(path.stem for path in PAGES.glob("*.md"))


@click.command("guide")
@click.argument("topic", required=False, type=click.Choice(topics()), metavar="[TOPIC]")
@click.option(
    "--html",
    "file",
    type=click.File("w", encoding="utf-8", lazy=False),
    metavar="FILE",
    help="Write the page as HTML, which needs no other file; all pages where no topic is given.",
)
@click.option("--open", "browse", is_flag=True, help="Show the page in a browser; all pages without a topic.")
def command(topic: str | None, file: TextIO | None, browse: bool) -> None:
    """Read about a topic, or list the topics.

    TOPIC is one of those that `ablate guide` lists, for instance `verdicts`.
    """
    if file or browse:
        _as_html([topic] if topic else topics(), file, browse)
    elif topic:
        paged = sys.stdin.isatty() and sys.stdout.isatty()
        (click.echo_via_pager if paged else partial(click.echo, nl=False))(rendered(text_of(topic)))
    else:
        width = max(map(len, topics()))
        for name in topics():
            click.echo(f"  {name:{width}}  {about(name)}")
        click.echo("\nRead one with: ablate guide TOPIC")


def text_of(topic: str) -> str:
    """A page as markdown."""
    return (PAGES / f"{topic}.md").read_text(encoding="utf-8")


def about(topic: str) -> str:
    """The line below a page's title."""
    return text_of(topic).splitlines()[2]


def html(chosen: list[str]) -> str:
    """Pages as one document in HTML that needs no other file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    from ablate.report.draw.style import css_variables

    reader = MarkdownIt("commonmark").enable("table")
    reader.add_render_rule("image", _inline_image)
    environment = Environment(
        loader=PackageLoader("ablate.commands"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("guide.html.j2").render(
        pages=[(topic, about(topic), Markup(reader.render(text_of(topic)))) for topic in chosen],
        light=Markup(css_variables(dark=False)),
        dark=Markup(css_variables(dark=True)),
    )


def _inline_image(renderer: Any, tokens: Any, place: int, *rest: Any) -> str:
    """A picture of the pages as part of the document."""
    token = tokens[place]
    picture = (PAGES / token.attrs["src"]).read_bytes()
    token.attrs["src"] = f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"
    return str(renderer.image(tokens, place, *rest))


def rendered(text: str, width: int | None = None) -> str:
    """Markdown as a terminal shows it, in lines of `width` or at most `WIDTH` characters."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=width or min(Console().width, WIDTH))
    with console.capture() as capture:
        console.print(Markdown(text, hyperlinks=False))
    return capture.get()


def _as_html(chosen: list[str], file: TextIO | None, browse: bool) -> None:
    import webbrowser
    from tempfile import NamedTemporaryFile

    with file or NamedTemporaryFile("w", prefix="ablate-guide-", suffix=".html", delete=False) as page:
        page.write(html(chosen))
    if not browse or not webbrowser.open(Path(page.name).resolve().as_uri()):
        click.echo(f"Wrote {page.name}")
