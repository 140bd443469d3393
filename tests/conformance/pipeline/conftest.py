"""One Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from conformance.histories.parquet.session import MissingSparkError, session

    try:
        with session("local[2,4]") as running:
            yield running
    except MissingSparkError as error:
        pytest.skip(str(error))
