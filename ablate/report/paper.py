"""Tables, figures and a paragraph on methods for a paper: LaTeX, PDF and SVG, made of what a report is made of."""

import re
from collections.abc import Callable, Collection, Iterator
from importlib import resources

import pandas as pd

from ablate.analysis.family import family_size
from ablate.analysis.runs import Runs, solving_metric
from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.text import printable
from ablate.core.derived import DERIVED
from ablate.core.facts import StudyFacts
from ablate.report.data_words import (
    chosen_by_judged,
    pairs_share_data,
    pool_codes,
    split_codes,
    stated_of,
    step_words,
)
from ablate.report.figures import summary
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import PAPER, theme
from ablate.report.methods import METHODS as METHODS_OF_STAGES
from ablate.report.page import markdown
from ablate.report.replanned import plan_lines
from ablate.report.section import Picture, ReportData, failed, slug
from ablate.report.sections import pictures, shown
from ablate.report.speed_tables import brief_tables
from ablate.report.summary import NAME as SUMMARY
from ablate.report.summary import summary_picture
from ablate.report.treatment_words import marks_of
from ablate.report.verdicts import claim_table, level_of, names_of, planned_rows, shared_rate, verdict_tables
from ablate.report.words import Table, message, rows_of, text

# The name of the paragraph on methods, as one of a table, and its heading.
METHODS, TITLE = "methods", "Statistical methods"
WIDEST = 3.5  # Inches of a figure that still stands in one column of a page.
LONG = 30  # Characters of a first cell that takes several lines.
# The macro that says where the figures are, from the file that LaTeX is called with.
FOLDER = r"\ablatefolder"
# What LaTeX takes for a command, or does not know. After the end of a row, [ and * would be an argument.
SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}", "~": r"$\sim$", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}", '"': "''", "[": "{[}", "*": "{*}",
        "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "µ": r"$\mu$", "→": r"$\to$", "≤": r"$\leq$",
        "≥": r"$\geq$", "∞": r"$\infty$", "α": r"$\alpha$", "–": "--", "—": "---", "“": "``", "”": "''",
        "‘": "`", "’": "'", "…": r"\ldots{}", "\u00a0": "~",
        **{sign: f"\\{sign}" for sign in "{}&%$#_"},
    }
)  # fmt: skip


def for_paper(
    report_data: ReportData,
    width: float,
    only: Collection[str],
    warn: Callable[[str], None],
    folder: str = ".",
) -> dict[str, str | bytes]:
    """Tables, figures and methods of a study by the names of their files, figures `width` inches wide.

    `only`: those of these names. `folder`: where LaTeX finds the figures, unless the paper says otherwise.

    The same data give the same bytes. What cannot be drawn is a warning. Raises `AblateError` for a name that is
    none, and where there is nothing.
    """
    study, paragraph = report_data.facts.study, methods(report_data)
    tables, drawn = (
        dict(_tables(report_data)),
        {picture.name: picture for picture in pictures(shown(report_data))},
    )
    picture = _summary(report_data, warn)
    known = [*tables, *([METHODS] if paragraph else []), *drawn, *([SUMMARY] if picture else [])]
    if not known:
        raise AblateError(f"{study}: has neither comparisons nor figures; run the study first")
    if wrong := [name for name in only if name not in known]:
        raise AblateError(
            str(
                Problem(
                    f"is no table or figure of {study}",
                    (),
                    wrong[0],
                    listed(known, 40),
                    nearest(wrong[0], known),
                    source="--only",
                )
            )
        )
    commit, label, mark = (
        report_data.facts.environment.get("commit"),
        slug(study),
        f"Written by: ablate export {study}",
    )
    head = f"% {mark}{f', commit {commit[:10]}' if commit else ''}\n"
    files: dict[str, str | bytes] = {}
    wanted = [name for name in known if not only or name in only]
    for name in (name for name in wanted if name in tables):
        files[f"{name}.tex"] = f"{head}% Needs \\usepackage{{booktabs}}\n" + tabular(
            tables[name], f"tab:{label}-{name}"
        )
    if METHODS in wanted:
        papers = (resources.files(__package__) / "templates" / "references.bib").read_text("utf-8")
        files[f"{METHODS}.tex"] = f"{head}% Needs \\bibliography{{references}}\n{as_latex(paragraph)}"
        files[f"{METHODS}.md"] = f"<!-- {mark} -->\n\n{as_markdown(paragraph)}"
        files["references.bib"] = f"{head}\n{papers}"
    with theme({**PAPER, "figure.figsize": (width, width)}):
        for name in (name for name in wanted if name in drawn):
            try:
                made = saved(drawn[name].draw(), name, ("pdf", "svg"))
            except Exception as error:
                warn(failed(f"The figure “{name}”", error).words)
                continue
            files.update({f"{name}.{end}": data for end, data in made.items()})
            files[f"{name}.tex"] = f"{head}% Needs \\usepackage{{graphicx}}\n" + figure_float(
                name, drawn[name].caption, f"fig:{label}-{name}", width, folder
            )
    if picture is not None and SUMMARY in wanted:
        try:
            with theme(summary.SETTINGS):
                made = saved(picture.draw(), SUMMARY, ("pdf", "svg"))
            files.update({f"{SUMMARY}.{end}": data for end, data in made.items()})
        except Exception as error:
            warn(failed(f"The figure “{SUMMARY}”", error).words)
    return files


def _summary(report_data: ReportData, warn: Callable[[str], None]) -> Picture | None:
    """Returns the picture of the study, or None where there is none; that it cannot be made is a warning."""
    try:
        return summary_picture(report_data)
    except Exception as error:
        warn(failed(f"The figure “{SUMMARY}”", error).words)
        return None


def _tables(report_data: ReportData) -> Iterator[tuple[str, Table]]:
    """Those of the summary, by name: `comparisons`, on the next task `comparisons-2`; of speed; `claims`."""
    facts, names = report_data.facts, names_of(report_data.facts)
    found = {"comparisons": [*verdict_tables(report_data.comparisons, facts)]}
    found["speed"] = [*brief_tables(rows_of(report_data.table("speed")), names)]
    for name, tables in found.items():
        yield from ((f"{name}-{i}" if i > 1 else name, table) for i, table in enumerate(tables, 1))
    if len(report_data.claims):
        yield (
            "claims",
            claim_table(report_data.claims, facts, level_of(planned_rows(report_data.comparisons))),
        )


def methods(report_data: ReportData) -> str:
    """The paragraph “Statistical methods”: one template, filled in with the numbers of a study.

    Empty where the study planned no comparison and timed nothing. It cites papers of `templates/references.bib` by
    key, as `[@akiba2019optuna]`, which pandoc reads as it stands.
    """
    facts = report_data.facts
    planned = planned_rows(report_data.comparisons)
    measured = " ".join(
        filter(None, (methods_of(report_data.evidence) for methods_of in METHODS_OF_STAGES.values()))
    )
    if not planned and not measured:
        return ""
    sides = Runs(report_data.evidence).sides()
    by_rate = [task for task in facts.tasks if task.outcome == "all_or_nothing"]
    return message(
        "methods.paragraph",
        facts=facts,
        m=family_size(facts) if planned else 0,
        variants=sum(not variant.placebo for variant in facts.variants[1:]),
        data=[*pool_codes(facts), *split_codes(facts)],
        share_data=pairs_share_data(facts),
        step=step_words(facts),
        stated=stated_of(facts) is not None,
        judged_again=chosen_by_judged(report_data.evidence),
        solved=[
            (task.name, name, task.metrics[name])
            for task in by_rate
            if (name := solving_metric(task, facts.metric))
        ],
        graded=len(by_rate) < len(facts.tasks),
        crossed=len(report_data.evidence.examples) > 0,
        by_source="source" in report_data.evidence.examples,
        claimed={DERIVED[claim.metric].kind for claim in facts.claims if claim.metric in DERIVED},
        runs=sum(int(side.asked.sum()) for side in sides),
        diverged=sum(side.diverged for side in sides),
        missing=sum(int((side.asked & ~side.ended).sum()) for side in sides),
        rate=shared_rate(facts),
        tuned=bool(facts.searched) or any(variant.tuned for variant in facts.variants),
        floored=_have_floors(facts),
        features=" ".join([*plan_lines(report_data), measured]),
    )


def _have_floors(facts: StudyFacts) -> bool:
    """Returns whether the primary metric has a floor, with which diverged runs count, on all tasks."""
    judged = [task.metrics[facts.metric] for task in facts.tasks if facts.metric in task.metrics]
    return all(metric.floor is not None for metric in judged)


# LaTeX


def latex(value: str) -> str:
    r"""`value` as literal text of LaTeX: `low_rank` is `low\_rank`; letters of any script stay as they are."""
    return printable(text(value)).translate(SIGNS)


def as_latex(paragraph: str) -> str:
    """The paragraph on methods, with commands that cite."""

    def cite(found: re.Match[str]) -> str:
        return rf"~\cite{{{found[1].replace('@', '').replace('; ', ',')}}}"

    words = re.sub(r" \{\[\}(@[a-z0-9@; ]+)\]", cite, latex(paragraph))
    return f"\\paragraph{{{TITLE}.}}\n{words}\n"


def as_markdown(paragraph: str) -> str:
    """The paragraph on methods, with citations as pandoc reads them."""
    words = re.sub(r"\\\[(@[a-z0-9@; ]+)\\\]", r"[\1]", markdown(paragraph))
    return f"## {TITLE}\n\n{words}\n"


def tabular(table: Table, label: str) -> str:
    """A table over all columns of a page, with the rules of booktabs; of what stands below rows, the marks alone."""
    columns = [column for column in table.columns if not column.below]
    rows = [[latex(row[column.key]) for column in columns] for row in table.rows]
    first = r"p{0.4\linewidth}" if max(len(row[0]) for row in rows) > LONG else "l"
    cells = pd.DataFrame(rows, columns=[latex(column.heading) for column in columns])
    return cells.style.hide(axis="index").to_latex(
        environment="table*",
        position="t",
        position_float="centering",
        hrules=True,
        column_format=first + "".join("r" if column.numeric else "l" for column in columns[1:]),
        caption=latex(f"{'; '.join([table.caption, *marks_of(table)])}."),
        label=label,
    )


def figure_float(name: str, caption: str, label: str, width: float, folder: str) -> str:
    """A float with its caption below it; over both columns where it is wider than one. `width` in inches."""
    environment = "figure" if width <= WIDEST else "figure*"
    return "\n".join(
        [
            rf"\providecommand{{{FOLDER}}}{{{folder}}}",
            rf"\begin{{{environment}}}[t]",
            r"\centering",
            rf"\includegraphics{{{FOLDER}/{name}}}",
            rf"\caption{{{latex(caption)}}}",
            rf"\label{{{label}}}",
            rf"\end{{{environment}}}",
            "",
        ]
    )
