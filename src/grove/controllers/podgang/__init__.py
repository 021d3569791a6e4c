"""PodGangs: `controller` completes and translates them, `conditions` words what it found."""
