"""All own orders together, and the requests about them: the bucket, the effects, the answers."""
