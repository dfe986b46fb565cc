import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # derive_trees.py is shared by the files here
