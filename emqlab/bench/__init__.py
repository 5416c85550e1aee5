"""``emqlab bench``: the executors' speed, measured by the server itself. README.md here says how to read it."""
