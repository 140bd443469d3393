"""Several servers at once: a cluster; a primary with replicas and sentinels."""
