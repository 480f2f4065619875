"""What users make of it: quality scores of voice calls and web pages."""
