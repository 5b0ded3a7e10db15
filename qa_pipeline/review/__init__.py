"""What people decide about pairs: handing them the undecided ones, and taking their decisions."""
