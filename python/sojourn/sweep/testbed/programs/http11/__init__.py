"""HTTP/1.1 of exact sizes over sockets of the kernel, for the testbed's programs; no package is imported."""
