"""The words by which a program that no rule knows tells what it would do, and the programs that end only what is here.

They are classes of words, not names of tools: whoever writes the next command line for a cloud takes a verb from here.
"""

from __future__ import annotations

from assent.shell.lists import listed

ENDS = listed(
    "delete del destroy purge drop wipe terminate revoke truncate decommission deregister deprovision unpublish "
    "nuke remove rm rmi rmr rmdir rb teardown erase expunge obliterate eradicate zeroize zap unregister undeploy undefine "
    "uninstall unlink evict detach deactivate disable yank removenode delnode forget discard disenroll unenroll "
    "unassign unset repave reimage invalidate unprovision suspend ban kick deauthorize unbind unjoin uncluster unmanage "
    "removeall deleteall flushall flushdb empty dismount uninject dismiss unload hibernate dequeue abandon payto sendall burn closechannel killall disassociate unassociate deallocate relinquish retract delist unpair wipeout unmount annul dispose cleanse factoryreset factorydefaults"
)
"""Each ends something, wherever it stands among a program's commands."""
ENDS_BEHIND = listed(
    "reset prune clear flush drain rotate rebuild reinstall reinit reinitialize transfer grant leave expire "
    "retire failover demote cordon quarantine shutdown poweroff seal archive rekey regenerate unlock blank unsubscribe "
    "undo revert set-password setpassword reset-password resetpassword downgrade deny gc withdraw payout refund sendpayment sendtoaddress closeallchannels recreate takeover offboard lockout "
    "stepdown standby isolate freeze unlink overwrite unmap unexport invalidate rejoin obsolete fence rename "
    "deprecate sendmany sendcoins repudiate unseal rehost trash vacuum"
)
"""They may be nouns as well (`aws transfer list-servers`): a word that only looks decides against them."""
ENDS_WHEN_SURE = listed(
    "stop rollback release offline cancel kill pause down halt off reboot restart clean cleanup fail force reject abort close quit restore replace"
)
"""Everyday words for what runs here; with a word that asks not to be asked (`--force`, `--all`) they end something."""
ENDS_DEEP = listed("stop cancel kill pause halt off cleanup down clean release reject mute disconnect")
"""So they do as a command of a command (`app stop prod`): who has such can reach far."""
GIVEN = listed(
    "silence silences mute mutes downtime payout payouts refund refunds transfer transfers payment payments charge charges withdrawal withdrawals"
)
"""Who makes one of these gives money away, or stops what watches."""
MAKES = listed("create add post schedule start send make new initiate submit execute issue")
SURE = listed(
    "force f yes y assume-yes confirm all all-namespaces hard now auto-approve autoapprove approve no-confirm no-prompt no-prompts "
    "noprompt no-input noinput quiet non-interactive no-interaction hard-kill really immediate expunge purge permanent cascade"
)
"""Options, without their dashes, by which a program is told not to ask."""
FLAGS = SURE | listed(
    "v verbose debug d q json j live prod production x e wait no-wait ci silent s dangerous i k no-color"
)
"""Options without a value: what stands behind one is a word of the program's own."""

LOOKS = listed(
    "get list ls lst show describe print inspect explain help lookup can-i whoami count exists read display man "
    "dump printenv fetch completion"
)
"""Each only looks, and what stands behind it is a name."""
LOOKS_BEHIND = listed(
    "info status view diff history stats stat usage search find query tail head top ps preview validate lint verify check "
    "plan logs log test ping doctor export download cat tree watch summary version monitor trace audit events dryrun"
)
ACTS = listed(
    "create add apply install start clone checkout commit edit update upgrade generate init new put upload format render "
    "convert login publish connect invite enable register open write make pub sub subscribe request produce consume compile translate lint resolve annotate"
)
"""What stands behind one of these is a name as well."""
SMALL = listed(
    "cache caches context contexts plugin plugins extension extensions completion completions remote draft drafts tmp temp alias "
    "profile profiles transient transients message messages tag tags label labels session sessions history bookmark bookmarks comment comments "
    "reaction todo breakpoint watch favorite notification annotation annotations emoji pane window tab buffer template "
    "snippet note notes stash worktree reminder task tasks locks lockfile dependency dependencies venv autoload"
)
"""What is small, is made again, or is this machine's own: ending one of it is everyday work."""
EXCUSED = {
    "aws": listed("item object alarms stream listener"),
    "gcloud": listed("revisions revision builds operations images"),
    "gh": listed("run branch issue asset"),
    "ef": listed("migrations"),
    "supabase": listed("db"),
    "helm": listed("repo plugin registry"),
    "artisan": listed("config route view event compiled optimize schedule"),
    "console": listed("config route view pool"),
    "terraform": listed("state"),
    "tofu": listed("state"),
    "terragrunt": listed("state"),
    "rake": listed("log logs assets tmp"),
    "rails": listed("log logs assets model controller scaffold migration mailer generator job channel helper resource"),
    "drush": listed("cr"),
    "heroku": listed("maintenance"),
    "wp": listed("rewrite theme"),
    "occ": listed("app"),
}
"""What is small with one program alone."""
SMALL_OPTIONS = listed(
    "delete-branch delete-source-branch remove-source-branch delete-after delete-before delete-excluded delete-during rm "
    "remove-orphans remove-destination remove-source-files remove-labels remove-label remove-assignee remove-reviewer remove-project "
    "remove-milestone remove-tag remove-tags remove-files remove-missing delete-on-close dropout drop-caches drop-last "
    "remove-unused remove-unused-variables remove-all-unused-imports remove-duplicate-keys remove-duplicates wipe-cache purge-cache "
    "remove-section remove-env-vars remove-listen-on-all"
)
QUIET = listed(
    "--help -help --dry-run --dryrun -dry-run --dry-run=client --dry-run=server --dry-run=true --what-if -whatif -WhatIf --simulate "
    "--simulated --no-act --just-print --plan-only --preview-only"
)
"""With one of these a program tells what it would do, or does it to what is here."""

LOCAL = {"wrangler": "--local", "supabase": "--local"}
"""With these it is what is here that is meant."""

AT_HOME = listed(
    # files, texts and what shows them
    "[ [[ test true false : echo printf print say espeak yes cat tac head tail less more most bat batcat nl wc sort uniq cut tr rev "
    "paste join comm diff cmp patch colordiff delta sdiff cp mv rm rmdir unlink mkdir touch ln ls ll la exa eza lsd tree stat file du df "
    "dust duf ncdu find fd fdfind locate rename mmv truncate shred split csplit dd install sync chmod chown chgrp chattr tee xargs "
    "parallel rsync tar zip unzip gzip gunzip bzip2 xz zstd 7z 7za rar unrar cpio ar pax grep egrep fgrep rg ag ack ugrep sed gsed awk "
    "gawk mawk nawk jq yq xq dasel gron fx xmllint xsltproc xmlstarlet csvcut csvgrep mlr miller column fold fmt pr expand iconv "
    "dos2unix unix2dos base64 base32 xxd od hexdump strings md5sum sha1sum sha256sum b2sum cksum shasum envsubst seq date cal sleep "
    "basename dirname realpath readlink mktemp pwd cd pushd popd export unset set shift read let declare typeset local alias unalias "
    "source . eval exec trap wait jobs fg bg disown kill pkill killall pgrep pidof history fc type which whereis command hash man info "
    "tldr whatis apropos cheat help clear reset tput stty fzf gum dialog whiptail figlet cowsay fortune xdg-open open start "
    "pbcopy pbpaste xclip xsel wl-copy trash trash-put gio rip exiftool exiv2 xattr setfattr getfattr convert magick mogrify identify "
    # editors and screens
    "vi vim nvim ex ed emacs emacsclient nano micro hx helix kak code codium cursor subl idea pycharm goland webstorm zed gedit kate "
    "tmux screen zellij byobu abduco dtach watch watchexec entr expect script notify-send "
    # making, testing and reading code
    "make gmake bmake ninja cmake ctest cpack meson scons bazel bazelisk buck buck2 pants please waf xmake premake autoconf automake "
    "gcc g++ cc c++ clang clang++ ld as nm objdump readelf objcopy strip gdb lldb valgrind perf strace ltrace cargo rustc rustup rustfmt "
    "clippy-driver cross go gofmt golangci-lint goimports gopls delve dlv javac java jar javap mvn mvnw gradle gradlew ant sbt lein "
    "clojure clj boot kotlin kotlinc scala scalac groovy dotnet msbuild nuget csc fsc swift swiftc xcodebuild xcrun xcode-select pod "
    "carthage flutter dart fvm zig nim nimble crystal shards elixir mix iex rebar3 erl erlc gleam ghc ghcup cabal stack "
    "runghc ocaml opam dune esy julia octave matlab R Rscript sml racket raco guile scheme sbcl tclsh wish perl prove cpan cpanm "
    "carton ruby irb gem bundle bundler rbenv rspec rubocop solargraph php composer phpunit phpstan psalm pest python python3 pip pip3 "
    "pipx pipenv poetry pdm hatch uv uvx rye conda mamba micromamba pyenv virtualenv pytest tox nox coverage mypy pyright basedpyright "
    "ruff black isort flake8 pylint bandit pre-commit autoflake jupyter ipython nbconvert sphinx-build mkdocs node nodejs deno bun bunx "
    "npm npx pnpm pnpx yarn corepack nvm fnm n volta tsc tsx ts-node eslint prettier biome oxlint jest vitest mocha ava karma cypress "
    "playwright puppeteer storybook webpack vite rollup esbuild parcel swc babel turbo nx lerna rush ng vue react-native expo gulp "
    "grunt rimraf del-cli shx nodemon pm2 forever concurrently husky lint-staged commitlint changeset lefthook just task mage invoke inv "
    "doit earthly dagger act watchman protoc buf gettext msgfmt latexmk pdflatex xelatex lualatex typst pandoc asciidoctor hugo jekyll "
    "gatsby eleventy shellcheck shfmt hadolint yamllint markdownlint cspell codespell vale semgrep cloc tokei scc hyperfine ab wrk hey "
    "k6 locust vegeta ccache sccache conan vcpkg west idf.py platformio pio arduino-cli tree-sitter ctags cscope asdf mise rtx sdk direnv "
    "aider claude codex gemini goose llm ollama "
    # a person's own lists and settings
    "zoxide chezmoi yadm stow beet calibredb calibre watson timew task taskwarrior todo.sh todo nb jrnl dstask khal calcurse himalaya "
    "notmuch mbsync newsboat mpc ncmpcpp mkcert home-manager fclones jdupes rdfind trivy grype bleachbit atuin mcfly zk buku pet navi "
    "kitty wezterm alacritty starship topgrade rbx-cli dropbox syncthing timeshift-launcher thunar nautilus dolphin ranger nnn lf yazi "
    # what keeps versions here
    "git git-lfs git-annex jj hg svn svnadmin bzr fossil darcs pijul sl got stg gt tig lazygit gitui git-branchless bisect p4v "
    "gitk pre-receive dvc "
    # packages of this machine, which other rows judge
    "apt apt-get apt-cache aptitude dpkg dpkg-deb dnf yum rpm zypper pacman yay paru apk brew port pkg emerge xbps-remove xbps-install "
    "eopkg snap flatpak nix nix-env nix-shell nix-store nix-collect-garbage nix-channel guix winget choco scoop mas update-alternatives "
    "alternatives luarocks install-info "
    # containers and clusters that are made to be thrown away
    "docker podman nerdctl buildah docker-compose podman-compose colima lima limactl kind minikube k3d tilt skaffold devspace "
    "telepresence ddev lando distrobox toolbox vagrant devcontainer localstack crictl ctr dive lazydocker k9s kubectx kubens stern act "
    # this machine, which other rules judge
    "deactivate purge eject sudo doas env nice nohup time timeout stdbuf setsid flock chroot unshare nsenter systemctl service launchctl hostnamectl "
    "timedatectl journalctl systemd-run systemd-nspawn machinectl crontab at atq atrm batch ps top htop btop free vmstat iostat lsof fuser "
    "lsblk lscpu blkid mount umount losetup mkfs fdisk sfdisk gdisk parted lvs pvs vgs swapon swapoff sysctl modprobe lsmod rmmod dmesg "
    "uname hostname id who w last su passwd chsh chage useradd usermod adduser groupadd gpasswd getent visudo getfacl setfacl getcap "
    "setcap wipefs iptables ip6tables nft ufw firewall-cmd ip ifconfig route ping traceroute mtr dig nslookup host whois nmap ss netstat "
    "tcpdump wireshark tshark nc ncat netcat socat telnet ssh scp sftp ssh-keygen ssh-add ssh-agent ssh-copy-id mosh lftp ftp "
    "defaults osascript diskutil pmset plutil sw_vers softwareupdate networksetup screencapture wsl cmd powershell pwsh "
    "xset xrandr xdotool wmctrl gsettings dconf i3-msg swaymsg hyprctl pactl amixer playerctl ffmpeg ffplay ffprobe sox yt-dlp mpv vlc "
    "adb fastboot emulator avdmanager sdkmanager simctl usermod alembic "
    # what other rules read in full
    "psql pgcli mysql mycli mariadb sqlite3 litecli duckdb clickhouse-client cqlsh usql sqlcmd curl wget http https xh curlie httpie mongo mongosh redis-cli valkey-cli keydb-cli "
    # rows in full, which know the small from the large
    "kubectl oc k kubecolor k3s microk8s ansible-galaxy "
    "assent mail mutt pass slack-notify "
)
"""What they end is here, is made again, or is judged by another rule. Whoever is not among them may reach anywhere."""
FRAMEWORKS = listed(
    "manage.py artisan console occ magento craft yii cake spark flarum typo3 wp-cli.phar jenkins-cli.jar drush rails rake"
)
"""Scripts that an interpreter is given, and whose words are those of a program."""
NAMING = listed(
    "filter name topic label labels tag tags grep pattern query search title file key branch path k t n p l o output format group"
)
"""Options whose value is a name or a pattern, whatever it says."""
OWN = frozenset({("auth", "revoke"), ("config", "unset"), ("config", "remove"), ("config", "reset")})
"""A program's own settings, and who it is logged in as."""
COPIES = listed("sync mirror push deploy rsync copy cp")
"""`--delete` beside one of them takes away what the source does not have."""
HERE = listed(
    "file files directory dir dirs folder buffer region window line lines word char item branches branch kernels"
)
"""A program or a function that is named by its verb and one of these ends what is here (`delete-file`)."""
RUNNERS = listed("bunx pnpx uvx")
"""Those of the runners that the shell's reader does not take off itself."""
