"""redis-cli, redis-benchmark and redis-py in both protocols work with miniredis."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import redis


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH")
    return found


def test_redis_benchmark_runs_its_tests(embedded_address: tuple[str, int]) -> None:
    tests = "ping,set,get,incr,lpush,rpush,lpop,rpop,lrange,mset"
    done = subprocess.run(
        [program("redis-benchmark"), "-p", str(embedded_address[1]), "-t", tests, "-n", "200", "--csv"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    rows = [line.partition(",")[0] for line in done.stdout.splitlines()]
    for name in ("PING_MBULK", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP", "LRANGE_600", "MSET"):
        assert any(name in row for row in rows), done.stdout
    assert "rror" not in done.stdout + done.stderr


def test_redis_cli_prints_replies_and_errors(empty_address: tuple[str, int]) -> None:
    lines = b"set k v\nget k\nlpush l a b\nlrange l 0 -1\nhello 3\nconfig get databases\nnosuch\n"
    done = subprocess.run(
        [program("redis-cli"), "-p", str(empty_address[1])], input=lines, check=True, capture_output=True
    )
    for words in (b"OK\nv\n2\nb\na\n", b"databases\n16\n", b"unknown command 'nosuch'"):
        assert words in done.stdout.replace(b"databases 16", b"databases\n16")


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py_works_in_both_protocols(empty_address: tuple[str, int], protocol: int) -> None:
    with redis.Redis(*empty_address, protocol=protocol, decode_responses=True) as client:
        assert client.set("k", "1", ex=100)
        assert client.incr("k") == 2
        assert 50 < client.ttl("k") <= 100
        assert client.rpush("l", "a", "b", "c") == 3
        assert client.lpop("l", 2) == ["a", "b"]
        assert client.blmove("l", "m", 1, "LEFT", "RIGHT") == "c"
        assert client.blpop(["l", "m"], timeout=1) in (("m", "c"), ["m", "c"])
        assert client.brpop("l", timeout=0.01) is None
        with client.pipeline() as pipeline:
            pipeline.watch("k")
            pipeline.multi()
            pipeline.get("k").llen("l")
            assert pipeline.execute() == ["2", 0]
        assert client.type("k") == "string"
        assert client.info()["redis_version"].count(".") == 2
        assert client.config_get("maxclients") == {"maxclients": "10000"}
        assert client.command_count() > 0
        assert [each["name"] for each in client.client_list(client_id=[str(client.client_id())])] == [""]
        with pytest.raises(redis.ResponseError, match=r"wrong kind"):
            client.lpush("k", "x")
