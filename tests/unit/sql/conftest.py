import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # function_words.py is shared by the files here
