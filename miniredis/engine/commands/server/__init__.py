"""The server itself: configuration, users, statistics, files, tests."""
