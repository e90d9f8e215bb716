"""What a reader of the corpus or of the command line reports."""


class Problem(Exception):
    """A fault of an input; `where` is its file, line and id as far as they are known."""

    def __init__(self, where, what):
        super().__init__(f"{where}: {what}")


class Usage(Exception):
    """Exit status 5."""
