"""The CRDs of both operators, generated from the models of settings.crs."""
