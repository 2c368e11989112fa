"""Rules on confidential containers: cc-operator 0.13, trustee-operator 0.5.0, and the pods that run on them.

What no object shows has no rule here: readiness, whether a certificate's authority is in the guest's rootfs, the length
of a key that is a secret, expiry (a rule has no clock), replace_on_changes. The settings and components see to those.
"""

from policy.rules.confidential import images, kbs, kbs_inputs, order, runtime, workloads

RULES = (*images.RULES, *runtime.RULES, *kbs.RULES, *kbs_inputs.RULES, *order.RULES, *workloads.RULES)
