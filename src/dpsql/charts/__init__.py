"""Pictures: what is drawn is a frozen value, and every way to show it draws that value and nothing else.

figure.py   what a chart says: marks with their intervals, a title, words for who does not see it, a table of it
layout.py   where its parts stand on a page (layout_rows, layout_lines, layout_icons), once for SVG and PNG
text.py     for a terminal        svg.py, html.py, png.py   for a page        picture.py   the object people hold
"""
