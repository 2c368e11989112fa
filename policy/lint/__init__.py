"""The rules over files: read with their lines, judged together, reported in the forms that people and machines read."""
