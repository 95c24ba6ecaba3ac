"""The suite's assertions are told like those of tests."""

import pytest

pytest.register_assert_rewrite("tests.frameworks.suite", "tests.frameworks.runtimes")
