"""Where keys live and how time moves (SPEC 10)."""
