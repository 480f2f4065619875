"""The players of today beside the libraries that they are written from."""
