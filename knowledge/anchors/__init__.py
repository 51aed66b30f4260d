"""What entries say of code: anchors, and whether a change of the code makes them false. No database."""
