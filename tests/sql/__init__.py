"""Golden cases for every file of sql/: `<step>/<case>.toml` with tiny tables in and out.

    about = "what the case shows"
    ordered = true                      # the order of the rows counts; default: it does not
    params = { cohort = "C" }           # what the step binds

    [tables.<name>]                     # a table that the step reads
    columns = { query = "string" }      # Arrow's types
    rows = [{ query = "news" }, {}]     # a column that a row leaves out is null

    [expected]
    columns = { query = "string" }
    rows = []

Bytes are written as hexadecimal text: in columns of type binary, and in params as `{ hex = ".." }`.
"""
