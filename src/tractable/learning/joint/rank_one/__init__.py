"""Circuits from blocks of a table that are nearly of rank one."""
