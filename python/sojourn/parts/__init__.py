"""One part alone: a queue, a congestion controller, an adaptive player."""
