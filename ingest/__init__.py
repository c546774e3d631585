"""How files and uploads become runs: tree walk, readers, loading, findings."""
