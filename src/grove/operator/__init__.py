"""The operator: `assembly` puts the controllers together, `process` runs them in a cluster, `metrics` counts gangs."""
