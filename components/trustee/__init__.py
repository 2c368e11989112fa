"""What Trustee reads, as text: generated from plain data, the same every time. No Pulumi and no clock in here."""
