"""The stand-in for `pulumi-language-python` where the real language host is not installed."""
