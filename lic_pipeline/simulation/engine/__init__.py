"""A run of one plan on one event loop, resumable at any moment: ``engine``; ``workers`` are its further processes."""
