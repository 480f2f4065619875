"""`python -m sojourn.models [--text] [NAME…]`: write the pages, and draw the pictures (of some, or none)."""

import sys

from sojourn.models import DOCS, drawings, texts

chosen = [word for word in sys.argv[1:] if not word.startswith("--")]
DOCS.mkdir(parents=True, exist_ok=True)
for name, text in texts().items():
    (DOCS / name).write_text(text, encoding="utf-8")
if "--text" not in sys.argv:
    from sojourn.models.pictures import draw

    for stem, queue, transport in drawings():
        if not chosen or stem in chosen:
            print(stem, flush=True)
            draw(queue, transport, DOCS / stem)
print(DOCS)
