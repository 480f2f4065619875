"""Write the pages of the models, and draw their pictures: ``python -m tools.models``."""

import argparse

from tools.models import DOCS, drawings, texts

parser = argparse.ArgumentParser(
    prog="python -m tools.models", description="Write docs/models: a page and a picture of every model."
)
parser.add_argument("--text", action="store_true", help="write the pages and draw nothing")
parser.add_argument("names", nargs="*", metavar="NAME", help="draw these only, such as codel or tcp-cubic")
arguments = parser.parse_args()
wanted = {} if arguments.text else {stem: (queue, transport) for stem, queue, transport in drawings()}
for name in arguments.names:
    if name not in {stem for stem, _, _ in drawings()}:
        parser.error(f"no model is called {name!r}; there are {', '.join(stem for stem, _, _ in drawings())}")
DOCS.mkdir(parents=True, exist_ok=True)
for name, text in texts().items():
    (DOCS / name).write_text(text, encoding="utf-8")
if wanted:
    from tools.models.pictures import draw

    for stem, (queue, transport) in wanted.items():
        if not arguments.names or stem in arguments.names:
            print(stem, flush=True)
            draw(queue, transport, DOCS / stem)
print(DOCS)
