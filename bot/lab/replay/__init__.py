"""A journalled run lived again, its effects compared with those of then."""
