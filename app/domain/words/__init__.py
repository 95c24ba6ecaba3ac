"""Every sentence that people read, in English and 中文."""
