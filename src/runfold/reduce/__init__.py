"""Many runs folded into one: grouped, aligned, turned into statistics, compared."""
