"""What the report of two captures draws: the figures of a study of losses, as far as captures have them."""

CAPTURED = [
    {"kind": "curves", "title": "Loss bursts", "value": "losses.down.bursts.ccdf"},
    {"kind": "curves", "title": "Loss bursts, stitched", "value": "losses.down.bursts.stitched_ccdf"},
    {"kind": "curves", "title": "Backlog that packets find", "value": "losses.down.occupancy.density"},
    {"kind": "curves", "title": "Sizes of flows", "value": "losses.down.sizes.ccdf"},
    {"kind": "flow-boxes", "title": "Loss of flows by size", "value": "losses.down.per_flow.boxes"},
    {"kind": "curves", "title": "Log-scale diagram of the losses", "value": "losses.down.scaling.haar"},
]

OF_LOSSES = ("losses.down.bursts.ccdf", "losses.down.bursts.stitched_ccdf", "losses.down.scaling.haar")
"""Values of which nothing is left where no packet was lost."""
