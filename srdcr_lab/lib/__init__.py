"""What chapters share: definitions, statistics, tables, figures, pages and controls. No model is asked here."""
