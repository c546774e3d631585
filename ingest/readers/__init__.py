"""Readers: one module a file format, each turns bytes into rows with their places."""
