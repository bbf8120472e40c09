"""SQL over the tables, by DuckDB in a process that reaches nothing else.

Modules:

    database       a query answered over the tables of a logdir
    schema         the tables that a query sees, their columns and types
    relations      the rows of these tables, read from the logs
    pushdown       which columns, runs and tags a query needs
    engine         DuckDB, closed to files and the network
    query_process  one query in a process that can be ended
    query_workers  processes kept for the next query
    sql_errors     DuckDB's errors in the words of ours
"""
