"""Scripts and libraries of functions, without the interpreter."""
