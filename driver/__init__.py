"""The node agent: a later issue. The room is here so that the rule of who may import whom holds from the start."""
