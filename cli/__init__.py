"""The `ringfence` command: words in, words out. What it says is worked out in the other rooms."""
