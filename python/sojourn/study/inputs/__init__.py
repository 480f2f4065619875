"""What a study names besides itself (speech, clips, players, traces): found and checked."""
