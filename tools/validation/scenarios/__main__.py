"""`python -m tools.validation.scenarios [PAGE]`: run ns-3's scenarios and write the page."""

import sys
from pathlib import Path

from tools.validation.scenarios import PAGE, page, rows

target = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
target.write_text(page(rows()), encoding="utf-8")
print(target)
