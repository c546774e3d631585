"""How runs become boards: tables, pages, API, reported scores."""
