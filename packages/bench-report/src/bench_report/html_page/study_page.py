"""The page of a study: one file without scripts, in the look of the other pages."""

from __future__ import annotations

from bench_report.html_page.page import page_policy, page_styles, page_template, trusted_markup
from bench_report.study_model import StudyReport
from bench_report.text import study_words


def render_study_page(report: StudyReport) -> str:
    """Return the page of a study's report."""
    css = page_styles()
    return page_template("study.html.j2").render(
        study=report, words=study_words, css=trusted_markup(css), csp=page_policy(css, "")
    )
