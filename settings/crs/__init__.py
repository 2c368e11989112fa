"""What the custom resources of confidential containers may say: typed models, from which their CRDs are generated."""
