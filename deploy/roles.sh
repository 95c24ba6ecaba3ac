#!/bin/sh
# Runs once, when the database is first made. Neither role is a superuser or may bypass row level security, so what the
# migrations forbid holds: `assent_owner` owns the tables and runs migrations only; the gateways connect as `assent_app`;
# `assent_backup` reads all, and is for `assent backup` alone. Without a password it cannot be logged in with.
set -eu

psql --no-psqlrc -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  -v owner_password="$ASSENT_OWNER_PASSWORD" -v app_password="$ASSENT_APP_PASSWORD" \
  -v backup_password="${ASSENT_BACKUP_PASSWORD:-}" <<'SQL'
CREATE ROLE assent_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD :'owner_password';
CREATE ROLE assent_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD :'app_password';
CREATE ROLE assent_backup LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
ALTER ROLE assent_backup PASSWORD :'backup_password';
CREATE DATABASE assent OWNER assent_owner;
REVOKE ALL ON DATABASE assent FROM PUBLIC;
GRANT CONNECT ON DATABASE assent TO assent_app, assent_backup;
\connect assent
GRANT USAGE ON SCHEMA public TO assent_app, assent_backup;
ALTER DEFAULT PRIVILEGES FOR ROLE assent_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO assent_app;
ALTER DEFAULT PRIVILEGES FOR ROLE assent_owner GRANT USAGE, SELECT ON SEQUENCES TO assent_app;
ALTER DEFAULT PRIVILEGES FOR ROLE assent_owner GRANT SELECT ON TABLES TO assent_backup;
ALTER DEFAULT PRIVILEGES FOR ROLE assent_owner GRANT SELECT ON SEQUENCES TO assent_backup;
SQL
