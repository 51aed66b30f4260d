"""Privacy: private marks, secrets, prompt injections, and removing a text from everything stored."""
