"""Reading log lines of the reference scripts: files, names, one line, its trace. No reference and no store."""
