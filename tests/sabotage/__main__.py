"""`python -m tests.sabotage`."""

from __future__ import annotations

import sys

from tests.sabotage.run import main

sys.exit(main())
