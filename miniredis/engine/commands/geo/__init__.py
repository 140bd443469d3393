"""Places, which are sorted sets by geohash."""
