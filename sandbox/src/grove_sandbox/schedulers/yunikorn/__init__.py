"""YuniKorn: `scheduler` reads labels and annotations of pods, no objects of its own."""
