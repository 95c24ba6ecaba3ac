"""What a program does where nothing can be put back, as rows: their sections say why people are asked.

A row is a program (or several), then what must all be among its words, each a pattern; one after `!` must not be there.
Options have one dash there, whatever they were given with, and stand with and without the value that is attached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from assent.guards.beyond.spoken_rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROWS = r"""
# ends for good what is kept elsewhere
terraform|tofu|terragrunt destroy
terraform|tofu|terragrunt apply -destroy
pulumi|cdk|cdktf|sst|copilot|sam|nitric destroy|delete|remove|rm|down
serverless|sls|amplify|eb|chalice|zappa remove|delete|terminate|undeploy
ansible-playbook -t|-tags destroy|wipe|teardown
aws s3|s3api rb
aws rm s3://(?!\S*(?:test|tmp|dev|staging|preview))[^/]+/? -recursive
aws s3 sync|mv -delete .*\b(?:empty|null)\b.*
aws (?:delete|terminate|purge|batch-delete)-(?!message|tags?$|item$|object$|object-tagging|alarms|rule|log-stream|listener).* !-dry-run
aws (?:schedule-key-deletion|disable-key|remove-.*|cancel-key-.*|stop-logging|release-address|close-account|leave-organization|deregister-.*)
aliyun|tccli|bce|oci|ibmcloud|openstack|yc|scw|exo|vultr-cli|ovhcloud|nova|linode-cli|hcloud|doctl|civo|upctl (?:delete|terminate|destroy|remove|rm|purge|release).*|.*-(?:delete|rm|destroy)|\w*(?:Delete|Terminate|Release)\w* !profile
gcloud (?:delete|purge|destroy) !revisions|tags|builds|operations|images
gcloud storage rm -r|-recursive|-.*r.*
gsutil rm -r|-.*[rR].*|.*\*.*
gsutil rb
bq rm -r|-f|-rf|-dataset|-d
az delete|purge|delete-batch|remove-.* !tag|tags
azcopy remove|rm
firebase (?:.*:)?delete|.*:disable|.*:remove
flyctl|fly destroy
railway|render|vercel|netlify|now|wrangler|supabase|neonctl|pscale|turso|atlas|scalingo|clever|dokku delete|remove|rm|destroy|down|.*:(?:delete|destroy)
heroku .*:(?:destroy|reset|delete|wipe|purge)
cf delete(?:-.*)?
eksctl|kops|rosa|aws-nuke|az-nuke|cloud-nuke delete|purge|deprovision
aws-nuke|cloud-nuke|gcp-nuke|azure-nuke .* !help
kubectl|oc|k3s|microk8s|kubecolor|k delete (?:ns|namespaces?|pvc?|persistentvolumes?|persistentvolumeclaims?|nodes?|no|crds?|customresourcedefinitions?.*|sts|statefulsets?.*|(?:cluster)?role(?:binding)?s?|secrets?|all|projects?|machines?|clusters?)(?:[/,].*)?
kubectl|oc|k3s|microk8s|kubecolor|k delete -all|-a|-all-namespaces
kubectl|oc|k drain -force|-delete-emptydir-data|-delete-local-data
kubectl|oc|k scale -replicas=0 -all
kubectl|oc|k replace -force
kubeadm|k3s-uninstall.sh|microk8s|k0s|rke2-uninstall.sh|rke|talosctl reset|remove|wipe
helm|helm3 uninstall|delete|del !plugin
helmfile destroy|delete
argocd delete|rm|delete-.*
flux uninstall|delete
velero|restic|borg|kopia|duplicity|duplicati-cli|rdiff-backup|bup|tarsnap|wal-g|pgbackrest|barman|proxmox-backup-client (?:delete|purge|nuke|stanza-delete|remove-all-.*|remove-older-than|rm|destroy)
restic forget -keep-last 0|-unsafe-allow-remove-all
borg prune -keep-last|-keep-last=0 0
tmutil delete.*|disable|thinlocalsnapshots
vssadmin|wbadmin|wmic delete
timeshift|snapper -delete-all|-delete|delete|-d
rclone purge|delete|rmdirs|deletefile|cleanup !-dry-run|-n
rclone sync|move .*\b(?:empty|null|nothing)\b.*
s3cmd|s5cmd|mc|minio-mc|b2|s4cmd|swift|rados|ceph|rbd|radosgw-admin (?:rb|del|rm|delete|purge|rmobj|delete-bucket|delete-file-version) -r|-recursive|-force|-f|-all|.*\*.*|.*really.*|-purge-.*|--yes.*|-bucket.*
ceph osd|fs|pool|pools rm|delete|purge|destroy|zap
gluster volume|peer delete|detach
dropdb .*
mysqladmin|mariadb-admin drop
pg_dropcluster|pg_resetwal|pg_resetxlog .*
createdb|initdb -force
redis-cli|valkey-cli|keydb-cli flushall !get|set|ttl|type|exists|expire|del|help
redis-cli|valkey-cli|keydb-cli shutdown|debug nosave|segfault
redis-cli|valkey-cli|keydb-cli cluster|-cluster reset|del-node|forget
redis-cli|valkey-cli|keydb-cli config requirepass|protected-mode|dbfilename|appendonly !get
rails|rake|bundle db:(?:drop|reset|purge|migrate:reset|drop:all)(?::\w+)?
prisma|npx|pnpm|yarn|bunx migrate|db reset|-force-reset
drizzle-kit|typeorm|sequelize|sequelize-cli|knex|npx (?:schema:drop|db:drop|db:migrate:undo:all)
php|artisan|sail (?:migrate:(?:fresh|refresh|reset)|db:wipe|doctrine:(?:database|schema):drop) !-env=testing
symfony|console doctrine:(?:database|schema):drop
python|python3|uv .*manage\.py flush|reset_db|dropdb
django-admin|manage.py flush|reset_db|dropdb
flask|alembic|alembic-autogen downgrade base
liquibase|flyway|goose|dbmate|migrate|sqlx|diesel|atlas clean|drop-all|dropall|drop|reset|down-to
mix ecto\.(?:drop|reset)
etcdctl del -prefix|-from-key
etcdctl snapshot|member|user restore|remove
consul kv|acl|snapshot -recurse|delete|restore
vault (?:delete|destroy|disable|revoke|seal|unseal) !token/test
vault kv|secrets|auth|token|lease|operator (?:delete|destroy|disable|revoke|seal|metadata|rotate|step-down)
rabbitmqctl|rabbitmqadmin|rabbitmq-queues (?:reset|force_reset|delete_vhost|delete_queue|purge_queue|delete_user|stop_app|delete|purge|forget_cluster_node)
kafka-topics|kafka-delete-records|kafka-consumer-groups -delete|-delete-offsets|-offset-json-file
rpk|nats|pulsar-admin|mosquitto_ctrl|kcat delete|rm|purge|delete-records|trim-prefix
nomad stop|gc|purge -purge|.*
influx|influxd delete|bucket|org|wipe delete|-predicate|-start|-force
elasticsearch-node|elasticsearch-users|opensearch-node unsafe-bootstrap|detach-cluster|userdel|repurpose
cassandra|nodetool|sstableutil|dsetool clearsnapshot|decommission|removenode|assassinate|truncatehints
cockroach|tiup|yb-admin|vtctlclient|citus drain|destroy|decommission|clean|delete_table|DeleteKeyspace|DeleteShard
vagrant destroy
multipass|orb|limactl|colima|machinectl|tart|lima|utmctl|anka|podman-machine delete|purge|remove|prune|factory-reset
virsh undefine|destroy|vol-delete|vol-wipe|pool-delete|snapshot-delete|managedsave-remove
qm|pct|pveum|pvesm|xe|esxcli|govc|prlctl|vmrun|vboxmanage|vim-cmd|bhyvectl|vm|iocage|bastille|ezjail-admin|jail|zonecfg|xl|onevm|cloudstack (?:destroy|delete|unregistervm|deletevm|vm\.destroy|vm-destroy|vdi-destroy|uninstall|vmsvc/destroy|object\.destroy|datastore\.rm|closemedium|free|-destroy)
lxc|incus delete|rm -f|-force
lxc|incus|lxd storage|project|network|cluster|snapshot delete|remove|rm
zfs rollback -r\w*
lxc-destroy .*
gpart|geli|gmirror|graid|bcdedit|bsdlabel destroy|delete|kill|clear|stop|remove|-f|/delete
gh|glab repo|release|project|secret|variable|gpg-key|ssh-key|ruleset delete
gh|glab repo archive|rename|transfer
gh|glab api -x|-method|-xdelete|-method=delete delete|-xdelete|-method=delete
hub|tea|bb|codeberg-cli|forgejo|gitea delete|repos?-delete
git push -\w{0,4}f\w{0,4}|-force \+?(?:\S*[:/])?(?:main|master|trunk|develop|prod\w*|release\S*)
git push \+(?:\S*[:/])?(?:main|master|trunk|develop|prod\w*|release\S*)
git push (?:-f|-force)(?:$) -all|-mirror|-tags
git push -mirror
git push -d|-delete (?:\S*/)?(?:main|master|trunk|develop|prod\w*|release\S*)
git push :(?:refs/heads/)?(?:main|master|trunk|develop|prod\w*|release\S*)
npm|pnpm|yarn unpublish|deprecate
npm|pnpm|yarn owner|access|team|profile|token|org|dist-tag rm|remove|revoke|destroy|add|grant|status=public
docker|podman trust revoke
cf|eb stop|abort|restage
vault operator generate-root|migrate|rekey
terraform|tofu state push
redis-cli|valkey-cli|keydb-cli flushdb -h|-u (?!localhost)\S*[a-z]\S*[.:]\S+
docker secret|config rm|remove
docker service scale|update .*=0|-replicas=0
yarn npm remove
yarn application|app|container -kill|-destroy|-signal
fastlane nuke
rsync -delete.* (?:\S*/)?(?:empty|null|nothing)/? \S+:.*
zpool offline|detach|clear|split
kubectl|oc|k certificate|adm deny|prune
kubectl|oc|k destroy|purge|unjoin|decommission
kubectl|oc|k delete tenants?|clusters?(?:\..*)?|volumes?(?:\..*)?|databases?(?:\..*)?|.*\.[a-z]+\.[a-z]+/.*|apps?|applications?
kubectl|oc|k delete -raw
kubectl|oc|k delete -f|-filename|-k|-kustomize \.{1,2}/?
kubectl|oc|k apply -prune
kubectl|oc|k patch .*"selector".*none.*
hdfs|hadoop namenode -format
exim|exim4 -mrm|-mg
dscl -delete
dscl \. -delete
loginctl terminate-user|kill-user
gcloud users set-password
svn delete|del|rm|remove|mv|move|rename \w+://.*
tarsnap -d|-nuke
cargo|gem|dotnet|nuget|hex|mix yank|owner|delete|hex\.(?:retire|owner) !-list
twine|pypi-cleanup|pypi delete|-do-it
skopeo|crane|oras|regctl|docker-ls delete|rm|tag\.delete
aws stop-instances|stop-db-.*|reboot-.*|deactivate-.*
aws set-desired-capacity|update-auto-scaling-group|update-service 0|-desired-capacity=0|-max-size=0|-desired-count=0
aws change-resource-record-sets .*"DELETE".*
terraform|tofu apply -replace=.*(?:db|rds|sql|bucket|volume|disk|cluster|storage).*
supabase db reset -linked|-db-url
kubectl|oc patch .*finalizers"?:\s?(?:\[\]|null).*
redis-cli|valkey-cli eval|eval_ro|fcall .*flush(?:all|db).*
git branch -d|-delete main|master|trunk|develop|prod\w*|release\S*
git update-ref -d|-delete
terraform|tofu|terragrunt taint|force-unlock|destroy-all
terraform|tofu|terragrunt workspace delete -force
mongorestore -drop
restic forget (?:latest|[0-9a-f]{8,64})
docker|podman stack|service rm|remove|down
docker swarm|node leave|rm|demote
ctr rm|remove|del .*\0.*
kubectl|oc|k delete kube-system
kubectl|oc|k taint|rollout -all|-a
kubectl|oc|k taint .*:NoExecute
az deployment create -mode=complete|complete
az keys renew
pass|gopass rm|remove -r\w*|-recursive|.*/.*|prod\w*
pvesm free
vgreduce -removemissing
pvmove|vgexport|vgchange -an|-a
sg_format -format
sedutil-cli -reverttper|-revertnoerase|-yesirwwreverttper.*
vmkfstools -u|-deletevirtualdisk
megacli|megacli64|storcli|storcli64|perccli -cfglddel|-cfgclr|del|-pdclear
hponcfg -r|-reset
racadm resetconfig.*|systemerase|storage:.*
ipmitool raw
nvram -c
efibootmgr -b
zmprov da|dd|ddl|dc
plesk -r|-remove
salt-key -d
hg strip
hdfs dfsadmin -safemode
drush site:install|site-install|si
occ maintenance:mode
php artisan down
wp search-replace !-dry-run
mix ecto\.rollback -all
gitlab-backup|gitlab-rake|gitlab:backup:restore restore|gitlab:backup:restore
git push -prune
bpexpdate .*
dltmqm|endmqm|tpm2_clear|tpm2_evictcontrol|mmdelnode|mmdelfs .*
fdbcli -exec (?:clear|exclude|configure|coordinators|kill|lock).*
stolonctl init|failkeeper|removekeeper
tmsh load default
multipath -f|-F
iscsiadm -u|-logout|-o delete|-u|-logout
lpadmin -x
hasura apply|migrate -down
kafka-storage|kafka-storage.sh format
kafka-reassign-partitions|kafka-reassign-partitions.sh -cancel
kubectl hibernate
oc|kubectl|k scale dc/.* -replicas=0
kc\.sh|kc import -override
launchctl remove
bpdbjobs|nbdelete .*
# takes away what could bring back what is kept elsewhere
aws -backup-retention-period 0
aws -backup-retention-period=0
aws put-bucket-versioning .*suspended.*
aws put-bucket-lifecycle(?:-configuration)? .*expiration.*
gcloud patch|update -no-backup|-no-deletion-protection|-no-versioning|-no-enable-.*|-clear-.*
az update|set -enable-soft-delete|-enable-delete-retention|-retention-days|-enable-versioning false|0
# stops what others use
gcloud instances stop|suspend|reset|restart
az stop|deallocate|power-off
flyctl|fly scale count 0
heroku (?:ps:scale|ps:stop|maintenance:on|ps:kill) .*
salt .* system\.(?:poweroff|halt|reboot|shutdown|init)
redis-cli|valkey-cli|keydb-cli replicaof|slaveof|module|acl (?!no$|list$|whoami$|cat$|getuser$|help$|log$|users$).*
gh workflow disable
# opens to others what is kept elsewhere
aws mv s3://(?!\S*(?:test|tmp|dev|staging|preview))[^/]+/? -recursive
aws put-bucket-policy|put-resource-policy|set-queue-attributes|put-repository-policy|put-key-policy|add-permission .*"\*".*|\*|file://.*public.*
aws .* -acl public-read.*
aws authorize-security-group-ingress|create-network-acl-entry 0\.0\.0\.0/0|::/0|.*0\.0\.0\.0/0.*
aws delete-public-access-block|put-public-access-block|modify-db-instance|modify-image-attribute|modify-snapshot-attribute .*=false.*|-publicly-accessible|.*all.*
gcloud firewall-rules create|update -source-ranges=0\.0\.0\.0/0|0\.0\.0\.0/0
gcloud|gsutil|bq add-iam-policy-binding|set-iam-policy|iam|acl .*allusers.*|.*allauthenticatedusers.*|public-read.*
az rule|nsg create|update -source-address-prefixes=\*|\*|internet|0\.0\.0\.0/0
az pipelines|approval approval update|approve|approved
az update -public-network-access|-allow-blob-public-access|-public-access|-default-action enabled|true|blob|container|allow
gh repo edit -visibility|-visibility=public public|-visibility=public
glab api|repo .*visibility=public.*
# takes away packages that the system needs, or the checks of new ones
apt|apt-get|aptitude|dnf|yum|zypper|apk|pacman|brew|port|pkg|emerge|xbps-remove|eopkg|swupd|tdnf|microdnf|dpkg|rpm|urpme|slackpkg|removepkg (?:remove|purge|autoremove|erase|rm|del|delete|uninstall|-c|-r\w*|-e|-p|-unmerge|-remove|-purge|remove-pkg) (?:libc6?|glibc(?:-\w+)?|musl|libstdc\+\+6|systemd|coreutils|bash|dash|sh|openssl|sudo|kernel(?:-\w+)?|linux-(?:image|headers)?\S*|linux|python3?|dpkg|apt|rpm|dnf|yum|pacman|apk-tools|util-linux|login|passwd|init|base-files|libc-bin|openssh(?:-server)?|busybox|grub\S*|network-manager|iproute2|filesystem|setup|alpine-base\S*|ubuntu-(?:minimal|desktop|server)|postgresql\S*|mysql-server\S*|docker-ce|auditd|apparmor|selinux\S*|fail2ban|ufw|clamav\S*|falcon-sensor|\*|\.\*|.*[*?])
rpm -e -nodeps|-nodeps.*
dpkg -r|-p|-remove|-purge|-i|-force-.* -force-(?:all|depends|remove-.*|breaks|conflicts)
pacman -r\w*dd\w*|-rddn?
apk del|add -force.*|-allow-untrusted
brew uninstall|remove|rm -ignore-dependencies
apt|apt-get|aptitude -allow-remove-essential|-allow-unauthenticated|-force-yes|-allow-insecure-repositories
dnf|yum|zypper|tdnf|microdnf -nogpgcheck|-no-gpg-checks|-allow-unsigned-rpm|-no-gpgchecks
snap|flatpak -purge|-delete-data
nix-env|nix-channel|guix -if|-f https?://.*
code|codium|cursor|windsurf -install-extension https?://.*
# cuts the machine off, or changes what it starts
resolvectl|systemd-resolve dns|domain .*\..*
iptables|ip6tables -i|-a|-insert|-append input accept !-dport|-p|-s|-m|-d|-i=.*
# makes this machine believe somebody else
trust anchor
security add-trusted-cert
certutil -a
# cuts the machine off, or changes what it starts
cipher|cipher.exe /w.*
manage-bde|manage-bde.exe -off
ipsec down|stop
ebtables|arptables -f|-flush
conntrack -f|-flush
ip xfrm flush|deleteall
apparmor_parser -r|-remove !-replace
semodule -r|-remove|-d|-disable
snmpset .*
firewall-cmd -remove-service=(?:ssh|https?)|-remove-(?:port|interface|rich-rule|source)=.*
chage -e|-expiredate 0
defaults write loginhook|logouthook|com.apple.loginwindow loginhook|logouthook
schtasks|schtasks.exe /create|/change|/delete
reg|reg.exe delete|add
wsl|wsl.exe -unregister
adb|fastboot|heimdall (?:erase|format|flashall|flash|wipe|oem|-w|uninstall|wipe-data|-wipe-data|--wipe_data)
ipmitool|ipmi-power|racadm|ilorest power|chassis|serveraction|racreset off|cycle|reset|powerdown|powercycle|hardreset|soft
firewall-cmd -panic-on
ufw|pfctl|npf reset|-d|-f
systemctl|service|rc-service|initctl|sv|launchctl mask|stop|disable|down|bootout|unload|-w sshd?(?:\.service)?|network(?:ing|-manager|manager)?(?:\.service)?|systemd-(?:networkd|resolved|journald|logind|udevd)(?:\.service)?|dbus(?:\.service)?|(?:r?syslogd?|cron|crond)(?:\.service)?|firewalld(?:\.service)?
umount -a|-fl|-f|-l|-lf /|-a|/(?:usr|var|home|boot|etc)
mount .*\bremount,.*ro\b.* /|/(?:usr|var|home|boot|etc)
mount -o .*\bremount,ro\b.*
modprobe|kmod -r|-remove|unload ext4|xfs|btrfs|nvme|e1000e?|virtio\w*
ip link|l|route|r|addr|a|rule|netns down|del|delete !veth\w*|docker0|dummy\w*|tun\w*|tap\w*|br-\w*
ip route|r|addr|address|a|rule|neigh flush
ip route|r del|delete default
ifconfig|ifdown|ifup|wg-quick (?:en|eth|wlan|ens|enp|bond|br)\w*|-a down|-a
route del|delete|flush default|flush|-f
nmcli networking|radio|n|r off|down|all
nmcli con|connection|c|dev|device|d down|delete|del|disconnect
networksetup -setnetworkserviceenabled|-setairportpower off
netplan|wpa_cli|resolvectl apply|terminate|disable_network|revert|flush-caches -state|terminate|disable_network
pkill|killall -f|-u|-kill|-9|-u .|\.\*|root
tc qdisc .*loss.*|loss 100%|\d{2,3}%
rename|prename|perl-rename|mmv .* /(?:etc|usr|bin|sbin|lib\w*|boot|var)/.*
lftp -c|-e .*\|\s?(?:ba|z|da)?sh\b.*|.*!.*
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a program's words must have among them, and what they must not."""

    why: str
    needs: tuple[re.Pattern[str], ...]
    never: re.Pattern[str] | None

    def fits(self, words: Sequence[str]) -> bool:
        """Whether all that it needs is there."""
        if self.never and any(map(self.never.fullmatch, words)):
            return False
        return all(any(map(need.fullmatch, words)) for need in self.needs)

    def names(self, words: Sequence[str]) -> list[str]:
        """Return what is named behind the row's own words, options aside."""
        telling = [need for need in self.needs if not need.pattern.startswith(("-", ".*"))]
        begin = max((next(i for i, word in enumerate(words) if need.fullmatch(word)) for need in telling), default=-1)
        return [word for word in words[begin + 1 :] if not word.startswith("-")]


def _read(text: str) -> Mapping[str, Sequence[tuple[str, Sequence[str]]]]:
    """Return why people are asked and what is wanted, row by row, under the name of each program."""
    rows: dict[str, list[tuple[str, Sequence[str]]]] = {}
    why = ""
    for line in filter(None, text.splitlines()):
        if line.startswith("# "):
            why = line[2:]
            continue
        programs, *wanted = line.split()
        for program in programs.split("|"):
            rows.setdefault(program, []).append((why, wanted))
    return rows


_BY_PROGRAM = _read(_ROWS + ROWS)


@lru_cache(maxsize=512)
def rows_of(program: str) -> tuple[Row, ...]:
    """Return the rows of a program, by its name in lower case. Their patterns are made when it is first met."""
    return tuple(_row(why, wanted) for why, wanted in _BY_PROGRAM.get(program, ()))


def _row(why: str, wanted: Sequence[str]) -> Row:
    never = next((word[1:] for word in wanted if word.startswith("!")), "")
    needs = tuple(re.compile(word, re.IGNORECASE) for word in wanted if not word.startswith("!"))
    return Row(why=why, needs=needs, never=re.compile(never) if never else None)
