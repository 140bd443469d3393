"""The reliable queues of RedisMQ's module."""
