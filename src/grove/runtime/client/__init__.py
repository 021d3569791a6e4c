"""One request to the API server: built as a value, sent within flow control, retried, answered or a typed error."""
