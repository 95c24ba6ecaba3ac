"""Ready hooks: guards, limits, redaction, truncation, the audit log, the approval gate. Import each from its module."""
