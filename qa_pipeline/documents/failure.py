"""The one exception of this package: a file that cannot become a document.

What belongs here: the exception that carries a reason code to the file's row. What does not: errors
about a whole corpus, which stop the run (`qa_pipeline.errors`).
"""


class DocumentFailure(Exception):  # noqa: N818 - it ends as a row, not as an error of the run
    """A file cannot be read or parsed; caught in `reading`, never leaves the package.

    Args:
        reason: snake_case code stored in the row.
        detail: what happened, in words, without text of the document.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
