"""Works that measure something else than the cost of a request."""
MEASURES = {}
