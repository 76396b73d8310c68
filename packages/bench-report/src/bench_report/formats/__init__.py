"""The report in every format but the HTML page: Markdown, LaTeX, JUnit XML, CSV, Parquet, documents."""
