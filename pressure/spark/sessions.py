"""Start a Spark session in which the data source is registered. Needs only what pip installs."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pressure.spark
from pressure.extras import how_to_install
from pressure.spark.errors import SetupError
from pressure.spark.java import java_home
from pressure.spark.options import PUSHDOWN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Settings for programs that print their own progress.
QUIET: Final = {"spark__log__level": "ERROR", "spark__ui__showConsoleProgress": "false"}

#: The packages that Python data sources in Spark need, and why.
_NEEDED: Final = {
    "pyspark": "Spark itself",
    "pyarrow": "carries rows between Spark and Python",
    "pandas": "PySpark needs it beside Arrow",
}

#: Settings for Spark on one machine: reachable only from there, and as many shuffle tasks as processors.
_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
}


def prepare() -> None:
    """Check and set what Spark needs before it starts: packages, Java, the same Python for its workers.

    Raises:
        SetupError: Something is missing; the text says what.
    """
    missing = [f"{name} ({why})" for name, why in _NEEDED.items() if importlib.util.find_spec(name) is None]
    if missing:
        raise SetupError(f"missing: {', '.join(missing)}; {how_to_install('spark')}")
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    _lead_to(str(Path(pressure.__file__).parent.parent))


def _lead_to(folder: str) -> None:
    """Make workers import modules from a folder."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join((folder, *filter(None, paths)))


def session(
    name: str = "pressure",
    master: str | None = None,
    *,
    folder: str | None = None,
    apart: bool = False,
    **config: str,
) -> SparkSession:
    """Start a Spark session, or use the running one, and register ``format("pressure")`` in it.

    Args:
        name: The name of the application.
        master: Where Spark runs, such as ``local[4]``. Default: the environment variable ``SPARK_MASTER``, or
            else ``local[*]``.
        folder: One more folder from which the workers can import modules.
        apart: Whether Spark's processes get no signals from this terminal: Ctrl-C reaches only this process.
        **config: Settings of Spark, with ``__`` for a dot: ``spark__sql__shuffle__partitions="2"``.

    Returns:
        The ``SparkSession``.

    Raises:
        SetupError: Something that Spark needs is missing; the text says what.
    """
    prepare()
    if folder is not None:
        _lead_to(folder)
    from pyspark.sql import SparkSession

    master = master or os.environ.get("SPARK_MASTER") or "local[*]"
    settings = {"spark.ui.enabled": "false", PUSHDOWN: "true"}
    if master.startswith("local"):
        settings |= _LOCAL
        os.environ.setdefault("SPARK_LOCAL_IP", _LOCAL["spark.driver.host"])
    settings |= {key.replace("__", "."): value for key, value in config.items()}
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    if apart:
        _launch_apart(settings)
    spark = builder.getOrCreate()
    pressure.spark.register(spark)
    return spark


def _launch_apart(settings: Mapping[str, str]) -> None:
    """Start Spark's Java, and so all its workers, in a process group of its own."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        SparkContext._ensure_initialized(gateway=launch_gateway(conf, {"start_new_session": True}))
