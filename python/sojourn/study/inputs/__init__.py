"""What a study names besides itself: recordings, clips, players and traces, one file for each.

Each has the same two functions, which read files but run nothing that a study brings along:

- ``settle(document)`` finds what a scenario names, checks it, and writes into the scenario what was found. It
  returns a note for the user, or None; what cannot be had is a SojournError of one sentence.
- ``identity(document)`` returns what of it decides the result, by name, to be hashed; see
  :mod:`sojourn.study.identity`.
"""
