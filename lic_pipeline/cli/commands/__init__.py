"""The commands of ``lic``, a module each, imported only when called. What several share is in ``cli.shared``."""
