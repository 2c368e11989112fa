"""What a stack file may say: the only room where configuration is read and judged. It creates nothing."""
