"""What runs in the networks of the testbed, one module per program: ``client(host)`` and ``server(host)``.

These modules are imported by the agent alone (`host.py`), with this folder's parent on the path, and import
nothing of the package, so that all programs start within some milliseconds.
"""
