"""Whether what is deployed is what was declared, and works: judged from what both clusters say, without changing it."""
