"""Import this first: sqlglot is then loaded from its sources, the build that `pip install dpsql` brings.

The development environment also holds the compiled build, three times as fast, whose extension modules lie beside the
sources. A floor that users do not have would be none.
"""

import importlib.machinery as machinery
import sys
from importlib.util import find_spec
from pathlib import Path

_found = find_spec("sqlglot")
if _found is None or _found.origin is None:
    raise ImportError("sqlglot is not installed")
_PACKAGE = Path(_found.origin).parent


def _sources_alone(path: str) -> machinery.FileFinder:
    if not Path(path).is_relative_to(_PACKAGE):
        raise ImportError(path)
    return machinery.FileFinder(path, (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _sources_alone)
