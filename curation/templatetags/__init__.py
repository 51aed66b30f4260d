"""What templates about company knowledge need."""
