"""What leaves the hall as data: items, archives of a board, copies of the public pages, documents for exchange."""
