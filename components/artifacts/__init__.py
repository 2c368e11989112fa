"""What is built for confidential containers: the scripts that do it on a builder, and what they say came out."""
