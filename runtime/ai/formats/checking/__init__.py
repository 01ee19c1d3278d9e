"""A value held against a sound schema: every fault with its place, in words for a model; bounded, nothing fetched.

Our own, since every run with a tool call pays for it: importing the usual library takes 80 to 100 ms, and neither it
nor its compiled cousin ends in time on a schema whose references multiply. The tests hold it to the library's verdict.
"""
