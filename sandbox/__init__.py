"""The toolchain and the throwaway control plane on loopback. Nothing here is needed by a real deployment."""
