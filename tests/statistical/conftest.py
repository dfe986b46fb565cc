import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # laws.py and judge.py are shared by the files here
