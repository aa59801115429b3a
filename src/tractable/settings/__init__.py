"""Settings of learners and parameter methods, declared once."""
