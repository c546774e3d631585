"""Recipes of tables: what a paper's table holds, said once, as YAML or as an address; made anew at any time."""
