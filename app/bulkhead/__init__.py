"""What stands between the core and a channel's package: that may fail, hang, or return anything."""
