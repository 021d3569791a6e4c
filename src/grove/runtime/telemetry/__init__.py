"""What a process tells about itself: metrics, health, logs."""
