"""Published errors on MovieLens, beside ours."""
