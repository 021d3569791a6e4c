"""PodCliqueSets: the set as a whole, and each of its replicas."""
