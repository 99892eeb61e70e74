"""What commands share: options, output, progress, launching the graph's jobs, and the long parts of single commands."""
