#!/usr/bin/env bash
# Rights in mosquitto's dynamic security plug-in, which refuses everything else. May be repeated; passwords are read from standard input.
#   rights.sh --deny                          once, before the first box: whatever no role allows is refused
#   rights.sh SITE [PREFIX] < password        a box: its own site's topics, under the client id gateside-SITE (MQTT_CLIENT_ID) alone
#   rights.sh --reader USER [PREFIX [GROUP]] < password    a collector of that group, or `gateside fleet`: reads everything, publishes nothing
# The connection of mosquitto_ctrl (-h, --cafile, -u admin, -P …) is read from $XDG_CONFIG_HOME/mosquitto_ctrl, one option a line; keep that file at mode 600.
set -euo pipefail
usage="usage: rights.sh SITE [PREFIX] < password, rights.sh --reader USER [PREFIX [GROUP]] < password, or rights.sh --deny"
case ${1:?$usage} in
  --deny | --reader | [!-]*) ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac
connection=${XDG_CONFIG_HOME:-$HOME/.config}/mosquitto_ctrl
[ -r "$connection" ] || {
  echo "error: $connection cannot be read: write the connection to the broker there, one option a line (-h broker.example, -p 8883, --cafile FILE, -u admin, -P PASSWORD), and chmod 600 it" >&2
  exit 2
}
control() {
  local out
  # mosquitto_ctrl exits with 0 whatever the broker answers.
  out=$(mosquitto_ctrl dynsec "$@" 2>&1) || { echo "error: $1: $out" >&2; exit 1; }
  if grep -q 'Error:' <<< "$out"; then echo "error: $1: $out" >&2; exit 1; fi
  printf '%s\n' "$out"
}
check() {
  [[ $1 =~ ^[A-Za-z0-9._-]+$ ]] || { echo "error: $1 may contain only letters, digits, . _ and - here" >&2; exit 2; }
}
prefix_of() {
  [[ $1 =~ ^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$ ]] || { echo "error: $1 is not the beginning of a topic" >&2; exit 2; }
  printf '%s' "$1"
}
# user client-id role. Somebody else's user, such as the administrator's, is left alone.
put_client() {
  local password other
  IFS= read -r password || [ -n "$password" ] || { echo "error: give the password on standard input" >&2; exit 2; }
  if grep -qxF "$1" <<< "$(control listClients)"; then
    other=$(control getClient "$1" | awk '/^[A-Z]/ { r = 0 } sub(/^Roles: */, "") { r = 1 } r && NF { print $1 }' | grep -vxF "$3" | head -n 1 || true)
    [ -z "$other" ] || { echo "error: $1 is a user with the role $other; choose another name" >&2; exit 2; }
    control setClientPassword "$1" <<< "$password"$'\n'"$password" > /dev/null
  else
    control createClient "$1" <<< "$password"$'\n'"$password" > /dev/null
  fi
  if [ -n "$2" ]; then control setClientId "$1" "$2" > /dev/null; fi
}
# role type:topic…
put_role() {
  local role=$1 acl
  shift
  if grep -qxF "$role" <<< "$(control listRoles)"; then control deleteRole "$role" > /dev/null; fi
  control createRole "$role" > /dev/null
  for acl in "$@"; do control addRoleACL "$role" "${acl%%:*}" "${acl#*:}" allow > /dev/null; done
}

case $1 in
  --deny)
    for type in publishClientSend publishClientReceive subscribe unsubscribe; do control setDefaultACLAccess "$type" deny > /dev/null; done
    echo "whatever no role allows is refused"
    ;;
  --reader)
    user=${2:?$usage}
    check "$user"
    prefix=$(prefix_of "${3:-gateside}")
    group=${4:-gateside}
    check "$group"
    put_client "$user" "" "reader-$user"
    # A literal subscription is not matched by patterns that a client might choose.
    put_role "reader-$user" "publishClientReceive:$prefix/#" "subscribeLiteral:\$share/$group/$prefix/#" "unsubscribeLiteral:\$share/$group/$prefix/#" \
      "subscribePattern:$prefix/#" "unsubscribePattern:$prefix/#"
    control addClientRole "$user" "reader-$user" > /dev/null
    echo "user $user reads $prefix/# in the group $group"
    ;;
  *)
    site=$1
    check "$site"
    prefix=$(prefix_of "${2:-gateside}")
    put_client "$site" "gateside-$site" "box-$site"
    own="$prefix/$site/#"
    put_role "box-$site" "publishClientSend:$own" "publishClientReceive:$own" "subscribePattern:$own" "unsubscribePattern:$own"
    control addClientRole "$site" "box-$site" > /dev/null
    echo "MQTT_USERNAME=$site"
    echo "MQTT_CLIENT_ID=gateside-$site"
    ;;
esac
