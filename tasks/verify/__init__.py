"""What anybody can check with a public key alone: manifests, signatures, whole releases."""
