"""Why an order was made, changed or cancelled, from the journal alone."""
