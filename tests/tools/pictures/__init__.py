"""The pictures of the guides, made anew by ``python -m tests.tools.pictures``.

``album.PICTURES`` names them all: where each one is in the repository, and what makes it. Some are the same
every time: a test compares them with their files. The others show a run, whose times and process numbers
differ.

To add a picture: a function that returns its bytes, a row in ``album.PICTURES``, and an image in a guide.
"""
