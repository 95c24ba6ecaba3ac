"""Routes for who runs it, who audits it, and the platforms that call back."""
