"""One cluster for all tests: a master, two workers with an executor each, and this process as the driver."""

import os
import shutil
import sys
import warnings

import pytest

MASTER = "local-cluster[2,1,2048]"


@pytest.fixture(scope="session")
def spark():
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java 17 or later: install it, for example with apt install openjdk-17-jre-headless")
    pytest.importorskip("pyspark", reason="pip install 'rankfill[spark]'")
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "OPENBLAS_NUM_THREADS": "1"}
    os.environ.pop("SPARK_HOME", None)
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master(MASTER)
            .appName("rankfill-tests")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF")
            .config("spark.driver.memory", "512m")
            .config("spark.executor.memory", "512m")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.python.worker.faulthandler.enabled", "false")
            .getOrCreate()
        )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def make_frame(spark):
    """A frame of Spark with these rows and names of columns, through Arrow."""
    import pyarrow

    def make(rows, names):
        columns = [pyarrow.array(list(column)) for column in zip(*rows, strict=True)]
        return spark.createDataFrame(pyarrow.Table.from_arrays(columns, names))

    return make
