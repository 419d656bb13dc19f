"""What was asked, said and decided, to read: views, cases, examples, and the explorer."""
