"""`python running_notebooks.py a.ipynb b.ipynb …`: "Run all" of each, in a kernel of its own, in the folder it lies in.

What its cells show is written back into the file, up to the cell that fails.
"""

import contextlib
import subprocess
import sys
from pathlib import Path

import nbformat


def run_all(*notebooks: Path) -> None:
    """Executes them, in a process of its own: an event loop, its sockets and their warnings are not those of tests."""
    subprocess.run([sys.executable, __file__, *map(str, notebooks)], check=True, capture_output=True)


def written(path: Path, cells: list[str]) -> Path:
    """A notebook of these cells."""
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


def outputs(path: Path) -> list[list[dict]]:
    """What each cell of code shows."""
    return [cell.outputs for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def main() -> None:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    for path in map(Path, sys.argv[1:]):
        notebook = nbformat.read(path, as_version=4)
        with contextlib.suppress(CellExecutionError):
            NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
