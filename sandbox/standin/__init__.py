"""Stand-ins for cc-operator 0.13.0 and trustee-operator 0.5.0, as far as their users can see them through the API.

kwok runs no container, so these also play the scripts in the operators' pods. `cc_operator` and `kbs_operator` make one
pass each; `loop` repeats it; `behaviour` has the slow, failing and hanging variants; `both` starts and stops the two.
"""
