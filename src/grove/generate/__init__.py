"""Files of the repository that are generated from the code: the API reference, the table of schedulers, the CRDs."""
