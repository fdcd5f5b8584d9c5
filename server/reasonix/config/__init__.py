"""What the user has set, where it lives, and which project files may speak."""
