"""One self-contained HTML page about a study: it works from disk and asks nothing of the network.

`page.py` writes it, with `page.css` and `page.js` inside. The script draws the charts and sorts
the tables; everything else is plain HTML that can be read and printed without it.
"""
