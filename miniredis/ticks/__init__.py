"""Ticks of the engine: run on any thread, under one lock."""
