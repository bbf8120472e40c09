"""Settings that a framework logged as text, or saved to a file near the run.

Modules:

    found_settings  all settings found for a run, in order of precedence
    config_reader   reads and caches configuration files
    config_text     parses text that contains JSON, YAML or a Markdown table
    plain_yaml      parses YAML as plain data, without running anything
    simple_yaml     parses the lines that most YAML files consist of
    setting_values  nested data as settings with dotted names, within limits
"""
