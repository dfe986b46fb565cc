import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # clinic.py and function_words.py are shared by the files here
