"""What a user sees, against the real engine, API server and scheduler."""
