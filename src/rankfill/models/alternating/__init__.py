"""The regularised squared error, one side at a time: least squares and coordinate descent."""
