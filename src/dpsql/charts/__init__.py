"""Pictures: what is drawn is a frozen value, and every way to show it draws that value and nothing else.

figure.py   what a chart says: marks with their intervals, a title, words for who does not see it
text.py     for a terminal        image.py   SVG and PNG, by matplotlib        picture.py   the object people hold
"""
