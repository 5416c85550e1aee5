"""What happened: snapshots, differences, traces and the recordings that the widgets draw."""
