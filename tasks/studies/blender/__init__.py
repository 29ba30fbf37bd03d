"""Studies of head lists: the figures of JPC19 and SEC17, and questions of ours."""
