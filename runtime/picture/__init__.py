"""A set as a picture: boxes and links, laid out in layers, written as SVG, Mermaid, DOT or JSON."""
