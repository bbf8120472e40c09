"""Finds and hides secrets before anything is recorded.

Modules:

    masking          masks secrets in text, arguments and settings
    secret_names     names of passwords, keys and tokens, and values known to be secret
    token_forms      secrets recognized by their form, such as `ghp_...`
    paired_secrets   secrets that follow their name in lists, tables and arguments
    command_secrets  passwords on the command lines of well-known programs
"""
