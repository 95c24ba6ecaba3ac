"""What the path guard protects, and what it leaves alone: lists as data, read by `assent.guards.paths.match`.

A pattern is a path in lower case. `/…` begins at the root; anything else is found at any depth, whole components only.
A trailing slash means the folder and all that is beneath it. `*`, `?` and `[…]` stay within a component, `**` stands
for any number of components. Case, separators and spelling are ironed out before patterns are compared.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def _patterns(text: str) -> tuple[str, ...]:
    """Cut a list at its commas: patterns may hold blanks."""
    return tuple(pattern for each in text.split(",") if (pattern := " ".join(each.split())))


PROTECTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "an SSH key or setting": _patterns("""
            .ssh/, id_rsa, id_dsa, id_ecdsa, id_ed25519, id_ecdsa_sk, id_ed25519_sk, id_xmss, authorized_keys,
            authorized_keys2, known_hosts.old, ssh_host_*_key, .shosts, *_rsa, *_dsa, *_ecdsa, *_ed25519, sshd_config,
            /etc/ssh/sshd_config.d/, .rhosts, /etc/dropbear/, dropbear_*_host_key, programdata/ssh/
        """),
        "a cloud credential": _patterns("""
            .aws/, .azure/, .kube/, .config/gcloud/, gcloud/credentials.db, .oci/, .aliyun/, .tccli/, .bluemix/, .boto,
            .config/doctl/, .config/hcloud/, .config/linode-cli, .config/scw/, .s3cfg, .config/openstack/,
            .config/rclone/, .rclone.conf, rclone.conf, .passwd-s3fs, .mc/config.json, .config/heroku/,
            .local/share/heroku/, .fly/config.yml, .railway/config.json, .netlify/config.json, .config/netlify/,
            com.vercel.cli/, .wrangler/config/, .config/.wrangler/, .vultr-cli.yaml, .pulumi/credentials.json,
            .terraformrc, terraform.rc, .terraform.d/credentials.tfrc.json, .edgerc, .supabase/access-token,
            .databrickscfg, .snowflake/, .snowsql/config, .dbt/profiles.yml, kubeconfig, *.kubeconfig,
            application_default_credentials.json, client_secret*.json, service-account*.json, service_account*.json,
            serviceaccount*.json, credentials.json, appdata/roaming/gcloud/, legacy_credentials/, /etc/kubernetes/,
            /var/lib/kubelet/pki/, /run/secrets/, /var/run/secrets/, /etc/rancher/, boto.cfg, .digitalocean/,
            .config/configstore/
        """),
        "a keyring or password store": _patterns("""
            .gnupg/, secring.gpg, private-keys-v1.d/, .password-store/, .local/share/keyrings/, *.keyring,
            .gnome2/keyrings/, kwalletd/, kwallet/, library/keychains/, *.keychain, *.keychain-db, *.kdbx, *.kdb,
            *.agilekeychain/, *.opvault/, *.1pif, .config/1password/, .config/op/, .config/keybase/,
            .config/bitwarden*/, application support/bitwarden*/, application support/1password*/, .lastpass/,
            .config/sops/age/, *.agekey, .age/, login data, login data for account, logins.json, key3.db, key4.db,
            signons.sqlite, cookies.sqlite, .mozilla/, mozilla/firefox/, application support/firefox/,
            .config/google-chrome*/, .config/chromium/, .config/bravesoftware/, .config/microsoft-edge*/,
            .config/vivaldi/, .config/opera/, application support/google/chrome/, google/chrome/user data/,
            chromium/user data/, microsoft/edge/user data/, brave-browser/, library/cookies/, .thunderbird/,
            microsoft/credentials/, microsoft/protect/, microsoft/vault/, wallet.dat, .electrum/wallets/,
            .ethereum/keystore/, .config/solana/id.json, .bitcoin/, .putty/, .vault-token, .vault_pass*, .vault-pass*,
            vault_password, .vault_password
        """),
        "a system authentication file": _patterns("""
            /etc/shadow, /etc/gshadow, /etc/passwd, /etc/sudoers, /etc/sudoers.d/, /etc/pam.d/, /etc/security/,
            /etc/master.passwd, /etc/spwd.db, /etc/opasswd, /etc/doas.conf, /etc/polkit-1/, /etc/krb5.keytab, *.keytab,
            /var/lib/extrausers/shadow, /var/lib/sss/, /var/db/dslocal/, /etc/samba/smbpasswd, /var/lib/samba/private/,
            /etc/ppp/chap-secrets, /etc/ppp/pap-secrets, /etc/ipsec.secrets, /etc/wireguard/, /etc/wpa_supplicant/,
            /etc/networkmanager/system-connections/, /var/backups/shadow*, /var/backups/gshadow*, /var/backups/passwd*,
            /etc/tcb/, /usr/local/etc/sudoers, /usr/local/etc/sudoers.d/, /etc/libuser.conf,
            /etc/openldap/slapd.d/, windows/system32/config/, windows/repair/, ntds.dit, /etc/ldap.secret,
            /etc/nslcd.conf, /proc/*/environ, /proc/*/mem, /proc/kcore, /dev/mem, /dev/kmem, /etc/cups/passwd*
        """),
        "an environment file": _patterns("""
            .env, .env.*, .env-*, .env_*, .env[0-9]*, .envrc, .envrc.*, *.env, .dev.vars, .secrets,
            .streamlit/secrets.toml, /etc/environment, .config/environment.d/, microsoft/usersecrets/,
            .microsoft/usersecrets/
        """),
        "a certificate or private key": _patterns("""
            *.pem, *.key, *.p12, *.pfx, *.p8, *.pk8, *.jks, *.jceks, *.keystore, *.bcfks, *.ppk, *.crt, *.cer, *.der,
            *.p7b, *.p7c, *.pvk, *.snk, *.mobileprovision, *.ovpn, cacerts, /etc/ssl/private/, /etc/pki/tls/private/,
            /etc/letsencrypt/, /etc/pki/ca-trust/private/, .pki/, .step/secrets/, .acme.sh/, .minikube/profiles/,
            .docker/machine/
        """),
        "a credential of an agent tool": _patterns("""
            auth-profiles.json, oauth_creds.json, .openclaw/credentials/, .openclaw/openclaw.json*,
            .clawdbot/credentials/, .clawdbot/clawdbot.json*, .moltbot/credentials/, .moltbot/moltbot.json*,
            .openclaw/agents/*/agent/auth.json, .openclaw/identity/, .openclaw/devices/, .openclaw/secrets*,
            .credentials.json, .claude.json, .claude.json.backup*, .config/claude/, .codex/auth.json,
            application support/claude/, claude/claude_desktop_config.json, .gemini/google_accounts.json,
            .gemini/mcp-oauth-tokens*.json, .gemini/gemini-credentials.json, .gemini/google_account_id,
            .minimax/credentials*, .minimax/auth.json, .config/github-copilot/, github-copilot/hosts.json,
            github-copilot/apps.json, .copilot/config.json, .copilot/mcp-oauth-config/, opencode/auth.json,
            opencode/mcp-auth.json, .qwen/credentials*, .qwen/mcp-oauth-tokens*.json, .kimi/credentials/,
            .factory/auth.*, .grok/user-settings.json, .cursor/auth.json, .config/cursor/auth.json,
            globalstorage/state.vscdb*, .codeium/config.json, .config/io.datasette.llm/keys.json, .amp/secrets.json,
            .local/share/amp/secrets.json, .config/goose/secrets.yaml, .continue/sharedconfig.json,
            .cache/huggingface/token, .cache/huggingface/stored_tokens, .huggingface/token, .mcp-auth/,
            .aider/oauth-keys.env, .config/openai/, .openai/, .anthropic/, .hermes/auth.json, .pi/agent/auth.json,
            .roo/secrets.json, .kiro/credentials*, .aws/amazonq/, .codex/config.toml, .continue/config.*,
            .kimi/config.*, /home/*/.cursor/mcp.json, /users/*/.cursor/mcp.json, .codeium/*/mcp_config.json,
            .aider.conf.yml,
            .config/opencode/opencode.json*, .config/goose/config.yaml, .config/anthropic/, .factory/mcp.json,
            .config/crush/, .config/amp/settings.json, .config/zed/development_credentials
        """),
        "a chat session": _patterns("""
            .openclaw/agents/*/sessions/, .clawdbot/agents/*/sessions/, .moltbot/agents/*/sessions/,
            .openclaw/sessions/, .openclaw/whatsapp/, .openclaw/telegram/, .openclaw/signal/, .openclaw/sessions.json,
            .openclaw/memory/, .claude/projects/, .claude/history.jsonl, .claude/transcripts/, .claude/sessions/,
            .claude/file-history/, .claude/paste-cache/, .claude/shell-snapshots/, .claude/todos/, .codex/sessions/,
            .codex/archived_sessions/, .codex/history.json*, .codex/log/, .gemini/tmp/, .gemini/history/, .qwen/tmp/,
            .qwen/projects/, .qwen/history/, .minimax/sessions/, .minimax/history*, .copilot/session-state/,
            .copilot/history-session-state/, .copilot/command-history*, opencode/storage/, opencode/opencode.db*,
            .local/share/goose/sessions/, .continue/sessions/, .cursor/chats/, .cursor/projects/, .factory/sessions/,
            .kimi/sessions/, .aider.chat.history.md, .aider.input.history, .aider.llm.history, .specstory/history/,
            workspacestorage/*/state.vscdb*, telegramdesktop/, telegram*/tdata/, *.session, *.session-journal,
            signal-cli/, .config/signal*/, application support/signal*/, appdata/roaming/signal*/, .wwebjs_auth/,
            *baileys*auth*/, *auth*baileys*/, whatsapp-session*/, whatsapp_session*/, .whatsapp*/,
            group.net.whatsapp.whatsapp.shared/, *whatsappdesktop*/, application support/whatsapp/, .config/whatsapp*/,
            .telegram/, .telegram-cli/, .signal/,
            com.whatsapp/, org.telegram.messenger/, ru.keepcoder.telegram/, .config/slack/, application support/slack/,
            appdata/roaming/slack/, .config/discord/, application support/discord/, appdata/roaming/discord/,
            library/messages/, .purple/, .weechat/, .irssi/, .config/larkshell/, xwechat_files/, .config/element/,
            .config/hexchat/
        """),
        "a shell profile": _patterns("""
            .bashrc, .bashrc.*, .bashrc.d/, .bash_profile, .bash_login, .bash_logout, .bash_aliases, .profile, .zshrc,
            .zshrc.*, .zshrc.d/, .zshenv, .zprofile, .zlogin, .zlogout, .kshrc, .mkshrc, .shrc, .cshrc, .tcshrc,
            .login, .logout, .bash_env, .xprofile, .xsessionrc, .xsession, .xinitrc, .pam_environment,
            fish/config.fish, fish/conf.d/, fish/fish_variables, nushell/env.nu, nushell/config.nu,
            *powershell_profile.ps1, powershell/profile.ps1, /etc/profile, /etc/profile.d/, /etc/bash.bashrc,
            /etc/bashrc, /etc/zsh/, /etc/zshrc, /etc/zshenv, /etc/zprofile, /etc/csh.cshrc, /etc/csh.login,
            /etc/zlogin, /etc/fish/, windowspowershell/profile.ps1
        """),
        "a stored login": _patterns("""
            .netrc, _netrc, .npmrc, .pypirc, .git-credentials, .config/git/credentials, .git-credential*,
            .docker/config.json, .dockercfg, .dockerconfigjson, .config/containers/auth.json,
            /run/containers/**/auth.json, /run/user/*/containers/auth.json, .pgpass, pgpass.conf, .my.cnf,
            .mylogin.cnf, .pg_service.conf, .htpasswd, .htdigest, .config/gh/hosts.yml, github cli/hosts.yml,
            .config/glab-cli/, .config/hub, .cargo/credentials, .cargo/credentials.toml, .gem/credentials,
            .m2/settings.xml, .m2/settings-security.xml, .gradle/gradle.properties, .composer/auth.json,
            .config/composer/auth.json, .bundle/config, .nuget/nuget/nuget.config, .config/nuget/,
            .config/helm/registry/, .config/helm/registry.json, .smbcredentials, .cifscredentials, .authinfo,
            .authinfo.gpg, .msmtprc, .fetchmailrc, .getmail/, .offlineimaprc, .mbsyncrc, .neomuttrc,
            .kaggle/kaggle.json, .jupyter/jupyter_server_config.json, .wgetrc, .curlrc, .sentryclirc,
            .config/filezilla/, filezilla/sitemanager.xml, filezilla/recentservers.xml, .subversion/auth/,
            .davfs2/secrets, .cvspass, .twurlrc, .ngrok2/, .config/ngrok/, .circleci/cli.yml, .chef/, .ansible/vault*,
            .influxdbv2/configs, .vnc/passwd, freerdp/, .remmina/, .tsh/, /etc/rhsm/, /etc/apt/auth.conf,
            /etc/apt/auth.conf.d/, /etc/exim4/passwd.client, /etc/mysql/debian.cnf, /etc/cifs-credentials,
            /etc/davfs2/secrets, /etc/docker/key.json, /etc/git-credentials, /etc/postfix/sasl_passwd, /etc/msmtprc,
            /etc/redis/users.acl
        """),
        "a shell history": _patterns("""
            .bash_history, .zsh_history, .zhistory, .histfile, .history, .sh_history, .ksh_history, .ash_history,
            .python_history, .node_repl_history, .psql_history, .mysql_history, .mariadb_history, .sqlite_history,
            .rediscli_history, .dbshell, .mongosh/, .irb_history, .php_history, .ipython/**/history.sqlite*,
            fish_history, consolehost_history.txt, .zsh_sessions/, .bash_sessions/, .config/atuin/,
            .local/share/atuin/, nushell/history.*, .lesshst
        """),
    }
)
"""What a match is, in words for the model and for people → patterns."""

EXCEPTIONS = _patterns("""
    node_modules/, test/, tests/, __tests__/, spec/, specs/, fixture/, fixtures/, __fixtures__/, testdata/, test-data/,
    test_data/, test-fixtures/, test_fixtures/, __mocks__/, [!.]*.test.*, [!.]*.spec.*, *.lock, *-lock.json,
    *-lock.yaml, *-lock.yml, *.lockb, *.lock.json, *.pub, .ssh/*.pub, *.example, *.sample, *.template, *.tmpl, *.dist,
    .env.schema, .env.example.*, .env.sample.*, .env.template.*, example.env, sample.env, template.env, *.example.env,
    *.sample.env, *.template.env, /etc/ssl/certs/ca-certificates.crt, /etc/ssl/certs/ca-bundle.crt, /etc/ssl/cert.pem,
    /etc/pki/tls/certs/ca-bundle.crt, ca-certificates.crt, ca-bundle.crt, certifi/cacert.pem
""")
"""What a match is forgiven for. An exception never reaches into a match: `tests/` forgives what is found beneath that
folder, not `.ssh/tests/…`; and no folder's name forgives what lies in a system's folder or *is* somebody's home."""

GENERIC = frozenset(
    _patterns("""
        .cache, .config, .local, age, agent, agents, amp, appdata, application support, apt, atuin, auth, auth.json,
        backups, bashrc, brave-browser, ca-trust, cacerts, chats, chrome, chromium, claude, cli.yml, conf.d, config,
        config.fish, config.json, config.nu, config.toml, config.yaml, config.yml, configs, containers, cookies,
        credentials, credentials.db, cups, data, davfs2, db, dev, devices, discord, docker, edge, element, env.nu,
        environ, environment, exim4, filezilla, firefox, fish, freerdp, google, goose, gradle.properties, helm,
        heroku, history, history.jsonl, home, hosts.json, hosts.yml, hub, id.json, identity, key.json, keys.json,
        keystore, kubelet, kubernetes, letsencrypt, lib, library, local, log, machine, mem, memory, messages,
        microsoft, mozilla, mysql, netlify, networkmanager, ngrok, nuget, nushell, op, openai, opencode, openldap,
        openstack, opera, passwd.client, pki, postfix, powershell, ppp, private, proc, profile, profile.ps1, profiles,
        projects, protect, rancher, rclone, redis, registry, registry.json, repair, rhsm, roaming, run, samba, scw,
        secrets, secrets.json, secrets.toml, secrets.yaml, security, sessions, settings.xml, share, signal, slack,
        ssh, ssl, state, storage, system-connections, system32, telegram, test, tls, tmp, todos, token, token.json,
        user, user data, users.acl, usr, var, vault, vivaldi, wallets, whatsapp, windows, wireguard, wpa_supplicant,
        zsh, zshrc
    """)
)
"""Components that say nothing by themselves about an unknown path (`$DIR/config.json`)."""

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "home": "~",
        "userprofile": "~",
        "homepath": "~",
        "zdotdir": "~",
        "xdg_config_home": "~/.config",
        "xdg_data_home": "~/.local/share",
        "xdg_cache_home": "~/.cache",
        "xdg_state_home": "~/.local/state",
        "appdata": "~/appdata/roaming",
        "localappdata": "~/appdata/local",
        "programdata": "/programdata",
        "allusersprofile": "/programdata",
        "systemroot": "/windows",
        "windir": "/windows",
        "systemdrive": "/",
        "homedrive": "",
        "gnupghome": "~/.gnupg",
        "password_store_dir": "~/.password-store",
        "kubeconfig": "~/.kube/config",
        "docker_config": "~/.docker",
        "codex_home": "~/.codex",
        "claude_config_dir": "~/.claude",
        "openclaw_state_dir": "~/.openclaw",
        "cargo_home": "~/.cargo",
        "netrc": "~/.netrc",
        "pgpassfile": "~/.pgpass",
        "histfile": "~/.bash_history",
        "bash_env": "~/.bashrc",
        "aws_shared_credentials_file": "~/.aws/credentials",
        "aws_config_file": "~/.aws/config",
        "boto_config": "~/.boto",
        "cloudsdk_config": "~/.config/gcloud",
        "google_application_credentials": "~/.config/gcloud/application_default_credentials.json",
        "azure_config_dir": "~/.azure",
        "npm_config_userconfig": "~/.npmrc",
        "pwd": ".",
    }
)
"""Environment variables that stand for a place, in lower case, and the place that they stand for by default."""

WHOLE_TREES = frozenset(
    _patterns(
        "tar, bsdtar, gtar, cp, gcp, rsync, scp, zip, 7z, 7za, rclone, install, docker, podman, mv, gmv, restic, borg"
    )
)
"""Programs that take a folder with all that is beneath it."""

LISTERS = frozenset(_patterns("ls, dir, vdir, exa, eza, stat, du, tree, lsattr, getfacl, realpath, readlink"))
"""Programs that tell names, sizes and owners, never what is in a file."""

PATH_KEYS = frozenset(
    _patterns("""
        path, paths, file, files, filename, filenames, target, targets, source, sources, src, dest, dst, destination,
        from, to, dir, directory, folder, root, location, url, urls, uri, uris, href, document, documents, notebook,
        attachment, attachments, image, images, resource, link
    """)
)
"""Arguments that carry paths, by their keys without `_`, `-` and case; so do all keys that end in `path`, `file`, …"""

GLOB_KEYS = frozenset(
    _patterns("""
        glob, globs, include, includes, includepattern, globpattern, filepattern, filepatterns, pathpattern
    """)
)
