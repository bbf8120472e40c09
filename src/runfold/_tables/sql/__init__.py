"""SQL over the tables, executed by DuckDB in a process that can access nothing else.

Modules:

    database       queries over the tables of a logdir
    schema         the tables that a query sees, their columns and types
    relations      the rows of these tables, read from the logs
    pushdown       which columns, runs and tags a query needs
    engine         DuckDB without access to files or the network
    query_process  one query in a process that can be killed
    query_workers  a pool of idle query processes
    sql_errors     DuckDB's errors as Runfold's errors
"""
