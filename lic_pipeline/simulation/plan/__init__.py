"""What is wanted: experiments, their conversations with ids, parameters, caps and limits. Nothing is called."""
