"""What a PodCliqueSet consists of: its layout, the position of a clique in it, the hash of a template."""
