"""What is said to the world, spent, read out of a store of secrets or set going there, as rows (see `kept_rows`)."""

ROWS = r"""
# is published, and what is published cannot be taken back
npm|pnpm|yarn|bun|lerna|npx|cnpm publish !-dry-run|-n|run|test|build|ls|view|install|add|i|pack|search|remove
changeset publish
cargo|wasm-pack publish|release !-dry-run|-n|build|add|search|install|test|run
poetry|uv|flit|hatch|pdm|rye|maturin|pixi publish|upload !-dry-run|add|run|tool|pip|sync
twine upload !-dry-run
python|python3|py twine upload
python|python3 setup\.py upload|register
gem push|yank|owner
rake|bundle release
mvn|mvnw|mvnd deploy|deploy:.*|release:perform|nexus-staging:.* !-dmaven\.deploy\.skip=true
gradle|gradlew publish|publish(?!tomavenlocal)\w{1,60}|uploadarchives|closeandrelease\w* !-dry-run|-m
sbt|lein|mill publish(?:signed)?|deploy|sonatyperelease
dotnet|nuget nuget|push push|.*\.nupkg
vsce|ovsx publish
helm|cr push|upload|cm-push !-dry-run|.*//localhost.*
pod trunk|repo push
dart|flutter pub publish !-dry-run|-n
mix hex\.publish
cabal|stack upload
luarocks|opam|conda|anaconda|conan|jsr|deno|elm|nimble|shards|raco|stack|composer upload|publish !-dry-run|install|search|list|-r
cpan-upload .*
jfrog|jf|jfrog-cli u|upload|publish|build-publish
oras|crane|skopeo push|copy|cp|append (?!.*(?:localhost|127\.0\.0\.1|:5000)).*[./].*
snapcraft|charmcraft|flatpak-builder upload|push|release
fastlane deliver|release|supply|upload_to_.*|pilot|production
xcrun altool -upload-app
eas|expo submit|publish
hf|huggingface-cli upload|repo
# is sent in somebody's name
mail|mailx|s-nail|nail|mutt|neomutt|sendmail|msmtp|ssmtp|swaks|sendemail|exim|exim4|mpack|mailsend|mailsend-go|nullmailer-send|blat|himalaya|mutt_dotlock (?!-).*[\w.+-]+@[\w.-]+.*|-to|-t|root
swaks|sendemail .*
sendmail|exim|exim4|msmtp -t|-t\w*
git send-email|request-pull !-dry-run
aws ses|sesv2|pinpoint|sns|pinpoint-email|connect|socialmessaging send-.*|publish|publish-batch
twilio api:core:messages:create|api:core:calls:create|.*:create
signal-cli|telegram-cli|telegram-send|tg|slackcat|discord|wacli|imsg|zulip-send|sendxmpp|toot|twurl|t|rainbowstream|bsky|matrix-commander|mosquitto-send|apprise|ntfy|pushover|notify send|-m|-b|-a|post|tweet|update|publish|chat|reply|dm|-message|-body|#.*|@.*
apprise|telegram-send|zulip-send|slackcat|sendxmpp|matrix-commander .*
az communication send|email|sms
osascript .*(?:mail|messages)\W.*\b(?:send|outgoing)\b.*
# moves money, or promises it
stripe payouts|transfers|charges|payment_intents|refunds|topups|invoices|subscriptions|checkout|payment_links create|confirm|capture|pay|cancel|send
bitcoin-cli|litecoin-cli|dogecoin-cli|elements-cli|bitcoin-core send\w*|walletpassphrase|dumpprivkey|bumpfee|sendrawtransaction|importprivkey|dumpwallet
lncli|lightning-cli|eclair-cli pay\w*|send\w*|openchannel|fundchannel|withdraw|keysend
cast|ethers|eth|geth send|publish|wallet
forge create|script -broadcast|-private-key
solana|spl-token transfer|pay|withdraw-.*|close|approve|mint|burn
near|sui|aptos|cosmos|gaiad|osmosisd|cardano-cli|monero-wallet-cli|zcash-cli|electrum|tezos-client|octez-client|algokit|goal|flow transfer|send\w*|pay\w*|delegate|submit|bank|broadcast|-transfer|transfer_all|sweep\w*|clerk
aws savingsplans|ec2|rds|redshift|elasticache purchase-.*|create-savings-plan|modify-reserved-instances
aws route53domains register-domain|transfer-domain|renew-domain
gcloud commitments|domains create|register
hledger|ledger-live send
# is read out of a store of secrets
aws secretsmanager|ssm get-secret-value|get-parameters?|get-parameters-by-path|batch-get-secret-value (?!.*(?:dev|test))\S*(?:prod|live|master|root|admin)\S*
aws ssm get-parameters-by-path -with-decryption
aws secretsmanager batch-get-secret-value
aws iam|redshift create-login-profile|get-cluster-credentials
vault kv|read|get get|\S*/\S* \S*(?:prod|live|master|root|admin)\S*
vault operator|token generate-root|unseal|create
gcloud secrets versions access (?:.*=)?\S*(?:prod|live|master|root|admin)\S*
az keyvault secret|key|certificate show|download|backup !-dev
az storage|cosmosdb|acr|redis|servicebus|eventhubs|functionapp|webapp|ad keys|credential|list-keys|authorization-rule|list-publishing-credentials|list-publishing-profiles|reset list|show|renew|reset|list-keys|list-publishing-credentials|list-publishing-profiles
kubectl|oc|k get secrets?(?:/.*)? -a|-all-namespaces -o\w*|-output.*
kubectl|oc|k get secrets?(?:/.*)? \S*(?:prod|live|master|root|admin)\S* -o(?:yaml|json\S*)?|-output.*
kubectl|oc|k config view|get-contexts -raw
heroku|dokku|flyctl|scalingo|clever config|config:get|config:export|env|secrets -s|-shell|-j|-json|-export|(?!secrets?$|-|.*:)\S*(?:secret|key|token|password|database_url)\S*
doppler|infisical|chamber|envkey|teller|berglas|sops|dotenvx|akeyless|conjur|dcli|rbw|lpass|bws|nordpass|protonpass export|read|get|access|decrypt|-d|-decrypt|show|password|note|download !-help
security dump-keychain|export|find-.*-password -d|-w|-g|-wg\w*|-ga?|export|-t|-k
secret-tool lookup|search|clear
kwallet-query|kwallet-cli -r|read|.*
gpg|gpg2 -export-secret-keys|-export-secret-subkeys
ansible-vault view|decrypt
npm|pnpm token|config create|get|list _authtoken|//.*_authtoken|create
docker|podman inspect .*\.config\.env.*
# comes from an address of its own, and runs there
deno install https?://(?!(?:deno\.land|jsr\.io|esm\.sh)/).*
node -import|-loader|-experimental-loader|-r|-require https?://.*
kubectl|oc|k apply|create|replace -f https?://(?!(?:raw\.githubusercontent\.com|github\.com|gitlab\.com|k8s\.io|\w+\.k8s\.io|storage\.googleapis\.com|docs\.\S+|projectcalico\.\S+|get\.\w+\.\w+)/)\S*
kubectl|oc|k apply|create|replace -f=https?://(?!(?:raw\.githubusercontent\.com|github\.com)/)\S*
npx|bunx|pnpx|uvx|pipx (?:-y|run)?https?://(?!github\.com)\S*
npx|bunx .*https?://.*
npm|pnpm|yarn|bun i|install|add https?://(?!(?:codeload\.)?github\.com|registry\.npmjs\.org|gitlab\.com)\S*\.(?:tgz|tar\.gz|zip|git)\S*
gh extension install .*
docker|podman|nerdctl load|import|build https?://.*
git config url\.(?:https?|git)://(?!(?:\S{0,80}@)?(?:github\.com|gitlab\.com|bitbucket\.org|ssh\.github\.com|\w+\.github\.com)/)\S+\.insteadof
docker|podman|nerdctl push (?!docker\.io/library/|localhost|\S*[.:]\S*/)[a-z0-9][\w.-]*/[\w./-]+(?::\S+)? !-help
# changes what runs for others without a look at what it changes
terraform|tofu|terragrunt apply|run-all -auto-approve !-auto-approve=false|(?!-)\S*plan\S*
terragrunt run-all|run apply|destroy
terraform|tofu state rm|mv|replace-provider
pulumi up|update|import|refresh|cancel -y|-yes|-skip-preview|-f
pulumi state|stack delete|rm|unprotect|import
cdk|cdktf deploy -require-approval=never|never|-auto-approve
kubectl|oc|k scale -replicas=0|0 !-dev
kubectl|oc|k delete (?:deploy|deployments?|svc|services?|ing|ingress(?:es)?|ds|daemonsets?|cronjobs?|cj|hpa|networkpolic(?:y|ies)|netpol|sa|serviceaccounts?|(?:validating|mutating)webhook\w*|sc|storageclass(?:es)?|leases?|apiservices?|endpoints|ep|poddisruptionbudgets?|pdb|volumesnapshots?)(?:[/,].*)?
kubectl|oc|k delete (?:po|pods?|jobs?|rs|replicasets?|cm|configmaps?) -all
kubectl|oc|k set env|image|serviceaccount|sa|resources -all|-a
kubectl|oc|k patch|edit|replace (?:clusterrole\w*|role\w*|nodes?|ns|namespaces?|secrets?|pv|pvc|crds?)(?:/.*)?
kubectl|oc|k create rolebinding -clusterrole=cluster-admin
az set-permission|update|create -public-access|-public-access=\w+ blob|container|-public-access=(?:blob|container)
btrfs filesystem|fi|balance|check|rescue resize|-repair|zero-log
cryptsetup luksChangeKey|luksAddKey|luksConvertKey|luksSuspend|luksHeaderRestore
sysctl kernel\.\S*=.*|fs\.(?:protected|suid)\S*=.*|net\.\S*(?:redirects?|source_route|rp_filter|forward\w*|syncookies)=.*
kubectl|oc|k create token
kubectl|oc|k port-forward|proxy -address|-address=0\.0\.0\.0 0\.0\.0\.0|-address=0\.0\.0\.0
kubectl|oc|k patch .*"?replicas"?:\s{0,3}0\b.*
kubectl|oc|k delete|patch|set|edit|replace|undo|scale|apply|drain|cp (?:\S*/)?(?:prod|production|live)(?:[/.-]\S*)?
kubectl|oc|k edit|patch|delete|apply|set|scale|rollout|pause kube-system|kube-public|istio-system|cert-manager|ingress-nginx
kubectl|oc|k rollout pause|undo prod|production|-n=prod\w*|-namespace=prod\w*
kubectl|oc|k label|taint nodes?|no .*-$
kubectl|oc|k auth reconcile
gh|glab release delete-asset
gh|glab api .*(?:archived=true|private=false|visibility=public|admin|default_branch).*
redis-cli|valkey-cli|keydb-cli debug|script|client|function|latency sleep|flush|kill|pause|reload|delete|restore|set-active-expire
redis-cli|valkey-cli|keydb-cli config set maxmemory|save|appendonly|maxclients|timeout|client-output-buffer-limit|.*-policy
aws ec2 run-instances .*(?:xlarge|metal)|(?:[1-9]\d+) -instance-type|-count
aws s3 presign .*(?:prod|customer|user|backup|secret).*
aws iam update-account-password-policy|delete-account-password-policy
aws sts assume-role .*(?:admin|root|owner|breakglass).*
gcloud update|add-metadata -no-public-access-prevention|-no-uniform-.*|-no-.*protection.*|.*oslogin=false.*
az functionapp|webapp|cosmosdb|storage keys|deployment set|renew|regenerate|delete
docker|podman update -restart=no|-restart .*\0.*
ldapmodify|smbpasswd|pdbedit|ipa .*\b(?:delprinc|cpw|changetype|ktrem|delpol)\b.*|-x
loginctl|skill terminate-.*|kill-.*|-u|-kill .*
pkill|killall|skill -kill|-9|-sigkill|-term|-15 -u|-user|-t|-terminal
systemctl set-default .*
hostnamectl|hostname set-hostname|hostname|-b|-f .*
date -s|-set.* .*
hwclock -set|-w|-systohc|-s|-hctosys
timedatectl set-time|set-ntp|set-timezone .*
pip|pip3|npm|gem|conda uninstall|remove|rm pip|setuptools|npm|bundler|conda|python -y|-g|-yes|pip|npm|conda
update-alternatives -remove-all|-remove
lvreduce|lvresize|growpart|ntfsresize|xfs_growfs|btrfstune|fatlabel|partclone.restore|fsarchiver .*/.*
resize2fs /dev/\S* \d+[kmgt]?|-m
fsck|e2fsck|fsck.ext4|fsck.xfs|fsck.fat|xfs_repair|reiserfsck|jfs_fsck|ntfsfix|dosfsck /dev/\S* -\w*[ylpf]\w* !-n|-vn|-fn|-N
smartctl|hdparm|sdparm -s|-y|-clear|-w off|-y|.*wce.*
tune2fs|debugfs|xfs_db /dev/\S* -o|-w|-l|-x|-e|-j|-r
iptables|ip6tables -j drop|reject !-s|-source|--source|-C
iptables|ip6tables -p drop|reject
ufw deny|reject|delete|limit 22|22/tcp|ssh|openssh|443|80|out|from
ufw allow any
nft add|insert|create drop|reject .*rule.*
route|ip add|replace|append default
nginx|apachectl|apache2ctl|httpd -s|stop|graceful-stop|-k stop|quit|graceful-stop
pg_ctl|pg_ctlcluster|mysqld_safe|mysqladmin|mongod|rabbitmqctl|caddy|haproxyctl|varnishadm|squid|named|rndc|unbound-control stop|shutdown|-shutdown|halt|stop_app !-d|test
mysqladmin|mariadb-admin password|flush-privileges|kill|shutdown|stop-all-slaves|flush-hosts
crictl|ctr rmp|rmi|stopp|rm -\w*a\w*|-all|-prune
aws modify-snapshot-attribute|modify-image-attribute|modify-db-snapshot-attribute|modify-db-cluster-snapshot-attribute -operation-type|-attribute-name|-launch-permission|-values-to-add
aws rds|redshift|elasticache -master-user-password|-auth-token
gcloud add-metadata|set-metadata|project-info .*(?:ssh-keys|startup-script).*
ansible .*state=stopped.*
ansible -m reboot|shutdown|community\.general\.shutdown
ansible-playbook .*state=absent.*
aws ec2|rds|lambda|iam .*-iam-instance-profile\S*|update-access-key|restore-db-\S+|update-assume-role-policy
gcloud instances set-service-account|set-scopes|set-machine-type
az slot swap
az firewall-rule create|update 255\.255\.255\.255
git config http\.\S*sslverify|core\.sshcommand|core\.fsmonitor|protocol\.ext\.allow false|0|https?://.*|always|.*[;|&].*
git lfs migrate -everything
npm|pnpm|yarn config|set strict-ssl false
systemd-run -on-\S+|-timer-property
docker|podman|nerdctl kill .*\0.*
journalctl -vacuum-files.*
bun|bunx x|run|-y https?://.*
ansible user .*(?:password=|state=absent|groups=\S*(?:sudo|wheel)).*
python|python3|uv|poetry|pipenv|manage.py|django-admin migrate zero
iptables|ip6tables -j dnat|redirect nat
launchctl bootout|unload|disable|kill system.*|/System/.*|/Library/LaunchDaemons/.*
kadmin|kadmin.local -q .*
mysql|psql|sqlite3|mongosh|redis-cli|sqlcmd|mariadb .*(?:wipe|destroy|nuke|purge|drop|truncate|delete_?all)[\w.-]*\.(?:sql|js|lua|cql)
helm rollback|upgrade -force|-reset-values|-no-hooks|-cleanup-on-fail
aws route53 change-resource-record-sets
aws cloudfront|elbv2|apigateway|apigatewayv2|route53 update-distribution|delete-.*|modify-listener|modify-load-balancer-attributes
aws iam update-assume-role-policy|put-user-policy|put-role-policy|put-group-policy|create-policy-version|set-default-policy-version|update-user|create-user|create-access-key|update-login-profile|add-user-to-group|deactivate-mfa-device|delete-.*
ansible|ansible-playbook -i|-limit|-l .*(?:wipe|destroy|teardown|decommission|nuke|reset|purge).*
firewall-cmd -add-port.*|-add-service.*|-set-default-zone.*|-zone.*trusted.* -permanent
firewall-cmd -set-default-zone=trusted|-panic-on
ufw default allow
dscl -create|-append|-passwd|-change|-merge|create|append|passwd
sysadminctl -adduser|-resetpasswordfor|-deleteuser|-guestaccount
spctl -master-disable|-global-disable|-add
csrutil disable|clear|authenticated-root
gio trash -empty
redis-cli|valkey-cli|keydb-cli -h|-u flushdb|swapdb|migrate
redis-cli|valkey-cli|keydb-cli config (?:re)?set(?:stat)? dir|slave-read-only|save|bind
pg_restore|psql -c|-clean|-create -h|-host|-d|-dbname \S*(?:prod|live)\S*
pg_restore -c|-clean \S*(?:prod|live)\S*
bfg|bfg.jar .*
java bfg\.jar|.*bfg.*\.jar -.*
gh|glab pr|mr merge -admin
gh api .*protection.*|.*collaborators.*|.*hooks.*|.*keys.*|.*secrets.* -x|-method|-xput|-xpost|-f|-method=put
glab|gh deploy-key|ssh-key|gpg-key add|create|delete
gh repo edit -visibility|-default-branch|-enable-.*|-accept-visibility-change-consequences
"""
