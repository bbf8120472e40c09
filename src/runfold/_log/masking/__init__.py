"""Secrets, found and hidden before anything is recorded.

Modules:

    masking          text, arguments and settings without their secrets
    secret_names     names of passwords, keys and tokens, and values known to be secret
    token_forms      secrets recognised by their form, such as `ghp_...`
    paired_secrets   secrets that follow their name in lists, tables and arguments
    command_secrets  passwords on the command lines of well-known programs
"""
