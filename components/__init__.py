"""What is deployed: one ComponentResource per file, its Args beside it. Configuration is never read here."""
