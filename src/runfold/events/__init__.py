"""One event file: its bytes decoded into typed columns. Old and new formats meet here."""
