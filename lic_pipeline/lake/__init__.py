"""The lake: files under LIC_HOME, written atomically. Table contents are the business of other packages."""
