"""Sound as it is sent, lost, concealed and played."""
