"""What every strategy prices with: skew, costs, fees, sizes and the choice of a whole cent."""
