"""The session that ``pressure.spark.session`` makes."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

import pressure.spark

pytestmark = pytest.mark.spark


def test_the_session_listens_on_this_machine_only_and_uses_this_python(spark: Any) -> None:
    assert spark.conf.get("spark.driver.host") == spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    seen = spark.range(1).mapInArrow(whose_python, "path STRING").first()
    assert seen.path == sys.executable


def whose_python(batches: Any) -> Any:
    import pyarrow as pa

    for batch in batches:
        yield pa.record_batch({"path": [sys.executable] * batch.num_rows})


def test_a_second_session_is_the_first_one(spark: Any) -> None:
    assert pressure.spark.session("another") is spark
