"""Circuits over sets of columns, each of which is divided in several ways."""
