"""Regular expressions with the semantics of Kubernetes.

An API server uses Go's regexp, which is RE2: no look-around, no back-references, and `$` matches only at the very end.
Python's `re` differs in all of these. The CEL library contains RE2, so patterns are evaluated there.
"""

from collections.abc import Callable
from functools import lru_cache

from cel_expr_python import cel

_ENV = cel.NewEnv(variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING})
_MATCHES = _ENV.compile("text.matches(pattern)")


def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a text contains a match. Raises ValueError if `pattern` is not valid RE2."""
    _search(pattern, "")

    def matches(text: str) -> bool:
        return _search(pattern, text)

    return matches


@lru_cache(maxsize=16384)
def _search(pattern: str, text: str) -> bool:
    answer = _MATCHES.eval(data={"text": _valid_unicode(text), "pattern": pattern})
    if answer.type() == cel.Type.ERROR:
        raise ValueError(f"{pattern!r} is no regular expression that Kubernetes accepts: {answer.value()}")
    return bool(answer.value())


def _valid_unicode(text: str) -> str:
    """Replaces lone surrogates, which JSON may contain, by U+FFFD, as Go does."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
