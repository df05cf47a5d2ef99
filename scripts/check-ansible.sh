#!/usr/bin/env bash
# Proves deploy/ansible against a real systemd: boots a small Debian in a container, serves it a signed apt repository, and has
# ansible-playbook install, configure, change, upgrade and refuse over ssh. As root; four minutes or more, and not part of CI, because
# booting a container needs more than a build machine grants.
#   scripts/check-ansible.sh [ROOT]      ROOT is made where it does not exist and kept, so that the next run is quick
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:-.cache/ansible-root}
mirror=${MIRROR:-http://deb.debian.org/debian}
version=$(node -p 'require("./package.json").version')-1
deb=${DEB:-dist/packages/gateside_${version}_$(dpkg --print-architecture).deb}
claim() { printf 'ok - %s\n' "$1"; }
die() { printf 'not ok - %s\n' "$1" >&2; inside journalctl -u gateside -n 30 --no-pager >&2 2>/dev/null || true; exit 1; }

for program in debootstrap systemd-nspawn nsenter ansible-playbook ssh reprepro gpg mosquitto python3; do
  command -v $program >/dev/null || { echo "skipped - $program is missing (debootstrap, systemd-container, ansible-core, openssh-client, reprepro, gnupg, mosquitto)"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "skipped - needs root"; exit 0; }
[ -e "$deb" ] || { echo "not ok - $deb is missing: npm run package" >&2; exit 1; }
[ -e dist/gateside.js ] || { echo "not ok - dist/gateside.js is missing: npm run build" >&2; exit 1; }

if [ ! -x "$root/usr/lib/systemd/systemd" ]; then
  mkdir -p "$root"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,adduser,libstdc++6,python3,python3-apt,openssh-server \
    bookworm "$root" "$mirror" >/dev/null
fi
work=$(mktemp -d); pids=(); nspawn=; leader=
inside() { nsenter -t "$leader" -m -p -i -u -C -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
cleanup() {
  if [ -n "$leader" ]; then inside systemctl poweroff >/dev/null 2>&1 || true; fi
  for _ in $(seq 50); do [ -n "$nspawn" ] && kill -0 "$nspawn" 2>/dev/null || break; sleep 0.2; done
  for p in $nspawn "${pids[@]:-}"; do [ -z "$p" ] || kill "$p" 2>/dev/null || true; done
  GNUPGHOME=$work/gnupg gpgconf --kill gpg-agent 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
until_holds() { # seconds, command…
  local deadline=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $deadline ] || return 1; sleep 0.3; done
}
free_port() { node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }

# The steps of site.yml with a stand-in for the role: the third of seven boxes fails, in the step of boxes 2 to 6.
mkdir -p "$work/steps/roles/gateside/tasks"
cp deploy/ansible/site.yml "$work/steps/"
cat >"$work/steps/roles/gateside/tasks/main.yml" <<'END'
- name: Configuration
  block:
    - name: Check
      ansible.builtin.command: "test {{ inventory_hostname }} != box-3"
      changed_when: false
  rescue:
    - name: Refused
      ansible.builtin.fail:
- name: Service
  ansible.builtin.debug:
    msg: "{{ inventory_hostname }} was finished"
END
{ echo '[boxes]'; for n in 1 2 3 4 5 6 7; do echo "box-$n ansible_connection=local ansible_become=false"; done; } >"$work/steps/boxes.ini"
log=$work/steps.log
! ANSIBLE_NOCOLOR=1 ansible-playbook -i "$work/steps/boxes.ini" "$work/steps/site.yml" >"$log" 2>&1 || die "the roll-out went through"
[ "$(grep -o 'box-. was finished' "$log" | sort -u)" = "box-1 was finished" ] && ! grep -q box-7 "$log" || { cat "$log" >&2; die "one bad box of five did not stop the roll-out"; }
claim "one box of five that fails stops its step, and the next is not begun"

# The container shares the network: ssh, repository, gateway and broker are on loopback, each on a port of its own.
ssh_port=$(free_port); apt_port=$(free_port); gateway_port=$(free_port); mqtt_port=$(free_port); http_port=$(free_port); closed_port=$(free_port)
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
install -D -m 0600 "$work/key.pub" "$root/root/.ssh/authorized_keys"
printf 'Port %s\nListenAddress 127.0.0.1\n' "$ssh_port" >"$root/etc/ssh/sshd_config.d/check.conf"

# A run that ended early has left its box behind. apt's own timers would hold its lock.
clear_box() {
  chroot "$root" dpkg -P gateside >/dev/null 2>&1 || true
  rm -rf "$root"/etc/gateside "$root"/etc/credstore/gateside.* "$root"/etc/apt/sources.list.d/gateside.sources "$root"/etc/apt/keyrings/gateside.asc
}
clear_box
for unit in apt-daily.timer apt-daily-upgrade.timer; do ln -sfn /dev/null "$root/etc/systemd/system/$unit"; done
systemd-nspawn -q --register=no --keep-unit -b -D "$root" --console=read-only </dev/null >"$work/boot.log" 2>&1 &
nspawn=$!
find_leader() { leader=$(pgrep -P "$nspawn" | head -1) && [ -n "$leader" ]; }
until_holds 20 find_leader || { cat "$work/boot.log" >&2; die "the container does not boot"; }
is_up() { case "$(inside systemctl is-system-running)" in running | degraded) ;; *) false ;; esac; }
until_holds 120 is_up || { tail -20 "$work/boot.log" >&2; inside systemctl list-jobs >&2; die "systemd does not come up"; }
claim "$(inside systemctl --version | head -1) is up; the control machine has $(ansible-playbook --version | sed -n 1p)"

# A signed repository over HTTP; a gateway; a broker that wants a password, which only the credential has.
export GNUPGHOME=$work/gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'Gateside check <check@localhost>' rsa2048 sign never 2>/dev/null
key=$(gpg --list-keys --with-colons 2>/dev/null | awk -F: '$1 == "fpr" { print $10 }')
publish() { scripts/apt-repository.sh "$work/repository" "$key" "$1" >"$work/publish.log" 2>&1 || { cat "$work/publish.log" >&2; die "the repository"; }; }
publish "$deb"
python3 -m http.server --bind 127.0.0.1 --directory "$work/repository" "$apt_port" >/dev/null 2>&1 & pids+=($!)
mkdir "$work/sites"
node dist/gateside.js simulate --port "$gateway_port" --sensors 7 --site-out "$work/sites/box-1.json" >/dev/null 2>&1 & pids+=($!)
printf 'plant:geheim\n' >"$work/passwords"
mosquitto_passwd -U "$work/passwords"
printf 'listener %s 127.0.0.1\nallow_anonymous false\npassword_file %s\nuser root\n' "$mqtt_port" "$work/passwords" >"$work/mosquitto.conf"
mosquitto -c "$work/mosquitto.conf" >"$work/mosquitto.log" 2>&1 & broker=$!; pids+=("$broker")
until_holds 20 test -s "$work/sites/box-1.json" || die "the simulator does not start"

# Two names of one box: the roll-out takes them one after the other.
cat >"$work/inventory.yml" <<END
boxes:
  hosts:
    box-1:
    box-2:
  vars:
    ansible_host: 127.0.0.1
    ansible_port: $ssh_port
    ansible_user: root
    ansible_ssh_private_key_file: $work/key
    ansible_ssh_common_args: -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ControlPath=none -o LogLevel=ERROR
    ansible_python_interpreter: /usr/bin/python3
    gateside_repository: http://127.0.0.1:$apt_port
    gateside_key_file: $work/repository/gateside.asc
    gateside_site_file: $work/sites/{{ inventory_hostname }}.json
    gateside_health_s: 60
END
cat >"$work/vars.json" <<END
{"gateside_settings": {"GATEWAY_URL": "http://127.0.0.1:$gateway_port", "MQTT_URL": "mqtt://127.0.0.1:$mqtt_port", "MQTT_USERNAME": "plant",
  "HTTP_PORT": $http_port, "BACKFILL_DAYS": 0, "PUBLISH_RAW": true}, "gateside_credentials": {"MQTT_PASSWORD": "geheim"}}
END
edit() { # file, JavaScript that changes `it`
  node -e 'const fs = require("fs"); const it = JSON.parse(fs.readFileSync(process.argv[1])); eval(process.argv[2]); fs.writeFileSync(process.argv[1], JSON.stringify(it, null, 2));' "$1" "$2"
}
play() { # name of the log, limit
  log=$work/$1.log
  (cd deploy/ansible && ANSIBLE_NOCOLOR=1 ANSIBLE_PIPELINING=1 ansible-playbook -i "$work/inventory.yml" -e "@$work/vars.json" --limit "$2" site.yml) >"$log" 2>&1
}
plays() { play "$@" || { cat "$log" >&2; die "$1: the play failed"; }; }
refused() { ! play "$@" || { cat "$log" >&2; die "$1: the play went through"; }; }
# What changed in the last play, as "task; task": the whole promise about restarts and reloads can be compared with it.
changed() { awk '/^(TASK|RUNNING HANDLER) / { sub(/^[^[]*\[(gateside : )?/, ""); sub(/\].*/, ""); task = $0 } /^changed: / && task != last { printf "%s%s", last ? "; " : "", task; last = task }' "$log"; }
changed_is() { [ "$(changed)" = "$1" ] || { cat "$log" >&2; die "changed: $(changed), expected: $1"; }; }
recap() { grep -Eq "^$1 +: .*$2" "$log" || { cat "$log" >&2; die "recap of $1 lacks $2"; }; }
property() { inside systemctl show gateside -p "$1" --value; }
starts() { inside journalctl -u gateside --no-pager -o cat | grep -c '^Started gateside' || true; }
# Starts since the last call must be as many as the role promises.
started=$(starts)
started_is() { # starts
  local now; now=$(starts)
  [ "$((now - started))" = "$1" ] || { cat "$log" >&2; die "$((now - started)) starts, expected $1"; }
  started=$now
}
# What an agent says of itself, by a JavaScript expression over `it`.
status() { inside gateside status --json | node -p "const it = JSON.parse(require('fs').readFileSync(0)); $1"; }
configured() { (cd "$root/etc/gateside" && sha256sum gateside.env site.json && stat -c '%n %U %G %a' gateside.env site.json); }

newer="Settings or credentials newer than the running service"

plays install box-1
changed_is "Key of the repository; Repository; Package; Credentials; Settings; Site file; Service"
started_is 1
[ "$(inside systemctl is-enabled gateside)" = enabled ] || die "not enabled"
[ "$(inside dpkg-query -W -f '${Version}' gateside)" = "$version" ] || die "not the version of the repository"
[ "$(inside stat -c %U:%G:%a /etc/gateside/gateside.env /etc/gateside/site.json /etc/credstore/gateside.mqtt.password | tr '\n' ' ')" = "root:gateside:640 root:gateside:640 root:root:600 " ] || die "owners and modes"
inside gateside status >/dev/null || die "gateside status"
claim "installs from the signed repository, configures, starts once, and waits until gateway and broker are connected"

plays again box-1
changed_is ""
recap box-1 "changed=0 .*failed=0"
started_is 0
claim "run again, it changes nothing"

edit "$work/vars.json" 'it.gateside_settings.LOG_LEVEL = "debug"'
plays setting box-1
changed_is "Settings; $newer; Restart gateside"
started_is 1
grep -qx LOG_LEVEL=debug "$root/etc/gateside/gateside.env" || die "the setting did not arrive"
claim "a changed setting restarts once"

printf 'plant:anders\n' >"$work/passwords"
mosquitto_passwd -U "$work/passwords"
kill -HUP "$broker"
edit "$work/vars.json" 'it.gateside_credentials.MQTT_PASSWORD = "anders"'
plays credential box-1
changed_is "Credentials; $newer; Restart gateside"
started_is 1
! grep -q anders "$log" || die "the log shows the secret"
claim "a changed credential restarts once, and is not in Ansible's output"

pid=$(property MainPID)
edit "$work/sites/box-1.json" 'it.sensors[0].name = "Pump of the check"'
plays site box-1
changed_is "Site file; Reload gateside"
started_is 0
[ "$(property MainPID)" = "$pid" ] || die "another process"
[ "$(status 'it.sensors.some(({ name }) => name === "Pump of the check")')" = true ] || die "the site file is not in effect"
claim "a changed site file is reloaded by the same process, and is in effect"

edit "$work/sites/box-1.json" 'it.site = "moved"'
plays renamed box-1
changed_is "Site file; Reload gateside; Restart gateside after a refused reload"
started_is 1
[ "$(status it.site)" = moved ] || die "the site's name is not in effect"
claim "another site name, which a reload refuses, restarts once"

# A bad site file together with a new setting and a new credential: neither may take effect, and the second box must not be tried.
cp "$work/sites/box-1.json" "$work/good.json"; cp "$work/vars.json" "$work/good-vars.json"
cp "$work/good.json" "$work/sites/box-2.json"
edit "$work/sites/box-1.json" 'it.sensors[0].type = "thermostat"'
edit "$work/vars.json" 'it.gateside_settings.LOG_LEVEL = "warn"; it.gateside_credentials.HTTP_TOKEN = "a-token-of-the-check-0123456789"'
pid=$(property MainPID); before=$(configured)
refused bad-site all
recap box-1 "failed=1"
! grep -q 'box-2' "$log" || { cat "$log" >&2; die "the roll-out went on to the second box"; }
grep -q thermostat "$log" || { cat "$log" >&2; die "the output does not say what is wrong"; }
[ "$(property MainPID)" = "$pid" ] && [ "$(configured)" = "$before" ] || die "a bad site file touched the service or its files"
started_is 0
claim "a bad site file is refused: same process, settings and site file as before, second box not tried"

# The credential arrived in the run that failed, which lost its handler.
cp "$work/good.json" "$work/sites/box-1.json"
edit "$work/vars.json" 'it.gateside_settings.LOG_LEVEL = "debug"'
plays mended box-1
changed_is "$newer; Restart gateside"
started_is 1
claim "after a failed run, the next one restarts for what that one left"

edit "$work/vars.json" 'delete it.gateside_credentials.HTTP_TOKEN'
plays removed box-1
changed_is "Credentials that left the inventory; Restart gateside"
started_is 1
[ ! -e "$root/etc/credstore/gateside.http.token" ] && [ -e "$root/etc/credstore/gateside.mqtt.password" ] || die "the credentials of the box are not those of the inventory"
claim "a credential that leaves the inventory leaves the box, with one restart"

edit "$work/vars.json" 'it.gateside_settings.LOG_LEVEL = "loud"'
before=$(configured)
refused bad-setting all
! grep -q 'box-2' "$log" || { cat "$log" >&2; die "the roll-out went on to the second box"; }
[ "$(configured)" = "$before" ] || die "a bad setting stayed"
started_is 0
edit "$work/vars.json" 'it.gateside_settings.LOG_LEVEL = "debug"'
claim "a bad setting is refused in the same way"

dpkg-deb -R "$deb" "$work/next"
sed -i 's/^Version: .*/Version: 99.0.0-1/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Znone -b "$work/next" "$work/gateside_99.0.0-1_$(dpkg --print-architecture).deb" >/dev/null
publish "$work/gateside_99.0.0-1_$(dpkg --print-architecture).deb"
plays upgrade all
changed_is Package
recap box-1 "changed=1 .*failed=0"
recap box-2 "changed=0 .*failed=0"
started_is 1
[ "$(inside dpkg-query -W -f '${Version}' gateside)" = 99.0.0-1 ] || die "not upgraded"
claim "a newer version in the repository is installed with one restart, box after box"

edit "$work/vars.json" "it.gateside_version = '$version'"
plays pinned box-1
changed_is Package
started_is 1
[ "$(inside dpkg-query -W -f '${Version}' gateside)" = "$version" ] || die "not the version asked for"
plays pinned-again box-1
changed_is ""
claim "gateside_version takes a box back to the version before, which the suite previous still has"

edit "$work/vars.json" "it.gateside_settings.GATEWAY_URL = 'http://127.0.0.1:$closed_port'; it.gateside_health_s = 10"
refused unhealthy all
grep -q 'TASK \[gateside : Health\]' "$log" || { cat "$log" >&2; die "it was not the health"; }
! grep -q 'box-2' "$log" || { cat "$log" >&2; die "the roll-out went on to the second box"; }
claim "a box that does not become healthy stops the roll-out"

inside dpkg -P gateside >/dev/null 2>&1 || die "purge"
clear_box
