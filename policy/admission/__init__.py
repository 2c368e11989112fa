"""The rules on claims that can be said in CEL, as ValidatingAdmissionPolicies: for what does not come through Pulumi.

`checks` has the CEL, a function for each rule; `objects` makes policies and bindings of them.
"""
