#!/usr/bin/env bash
# Rights in mosquitto's dynamic security plug-in, which refuses everything else. May be repeated; passwords are read from standard input.
#   rights.sh --deny                          once, before the first box: whatever no role allows is refused
#   rights.sh SITE [PREFIX] < password        a box: its own site's topics, under the client id gateside-SITE (MQTT_CLIENT_ID) alone
#   rights.sh --reader USER [PREFIX [GROUP]] < password    a collector of that group, or `gateside fleet`: reads everything, publishes nothing
#   rights.sh --operator USER [PREFIX] < password          a person: sends commands and signed documents, reads results and states, retires boxes (`gateside fleet retire`).
#                             The broker cannot tell clearing from publishing, so this user may publish everything below the sites; not for machines
# The connection of mosquitto_ctrl (-h, --cafile, -u admin, -P …) is read from $XDG_CONFIG_HOME/mosquitto_ctrl, one option a line; keep that file at mode 600.
set -euo pipefail
shopt -s inherit_errexit
usage="usage: rights.sh SITE [PREFIX] < password, rights.sh --reader USER [PREFIX [GROUP]] < password, rights.sh --operator USER [PREFIX] < password, or rights.sh --deny"
case ${1:?$usage} in
  --deny | --reader | --operator | [!-]*) ;;
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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "error: $1" >&2
  exit 1
}
# mosquitto_ctrl exits with 0 whatever the broker answers; all it writes to standard error but its warning of an open connection is a failure.
# Call it as a command of its own or in an assignment: elsewhere its failure would not end this script.
control() {
  local status=0
  mosquitto_ctrl dynsec "$@" > "$work/out" 2> "$work/err" || status=$?
  sed -i '/^Warning: You are running mosquitto_ctrl without encryption/d; /^This means all of the configuration changes/d; /^$/d' "$work/err"
  if grep -q '^[A-Za-z]*: Error: ' "$work/err"; then fail "$1: $(cat "$work/err")"; fi
  if [ "$status" -ne 0 ] || [ -s "$work/err" ]; then
    fail "$1: $(tr '\n' ' ' < "$work/err")(exit code $status): nothing further was done. Check -h, -p, --cafile, -u and -P in $connection"
  fi
  cat "$work/out"
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
  local password other all roles
  IFS= read -r password || [ -n "$password" ] || { echo "error: give the password on standard input" >&2; exit 2; }
  all=$(control listClients)
  if grep -qxF "$1" <<< "$all"; then
    roles=$(control getClient "$1" | awk '/^[A-Z]/ { r = 0 } sub(/^Roles: */, "") { r = 1 } r && NF { print $1 }')
    other=$(grep -vxF "$3" <<< "$roles" | head -n 1 || true)
    [ -z "$other" ] || { echo "error: $1 is a user with the role $other; choose another name" >&2; exit 2; }
    control setClientPassword "$1" <<< "$password"$'\n'"$password" > /dev/null
  else
    control createClient "$1" <<< "$password"$'\n'"$password" > /dev/null
  fi
  if [ -n "$2" ]; then control setClientId "$1" "$2" > /dev/null; fi
}
# user role type:topic… What the broker has is read back: only that counts as done.
give_role() {
  local user=$1 role=$2 acl all
  shift 2
  all=$(control listRoles)
  if grep -qxF "$role" <<< "$all"; then control deleteRole "$role" > /dev/null; fi
  control createRole "$role" > /dev/null
  for acl in "$@"; do control addRoleACL "$role" "${acl%%:*}" "${acl#*:}" allow > /dev/null; done
  control addClientRole "$user" "$role" > /dev/null
  all=$(control getRole "$role" | sed -E 's/^ACLs: +| +$//; s/^ +//; s/ +: /:/; s/:allow : /:/; s/ \(priority: .*//')
  for acl in "$@"; do grep -qxF "$acl" <<< "$all" || fail "the broker does not list $acl in the role $role"; done
  all=$(control getClient "$user")
  grep -qE "^(Roles:)? +$role( |\$)" <<< "$all" || fail "the broker does not list the role $role of $user"
}
types="publishClientSend publishClientReceive subscribe unsubscribe"
# The types that are not denied.
allowed_types() {
  local all type
  all=$(control getDefaultACLAccess)
  for type in $types; do grep -qE "^$type +: deny\$" <<< "$all" || printf '%s ' "$type"; done
}

case $1 in
  --deny)
    left=$(allowed_types)
    if [ -n "$left" ]; then
      # mosquitto_ctrl 2.0.11 asks for this in a form that the plug-in ignores. mosquitto_pub takes the same options, from a file of its own name.
      command -v mosquitto_pub > /dev/null || fail "mosquitto_pub is missing: apt-get install mosquitto-clients"
      cp "$connection" "$work/mosquitto_pub"
      acls=$(for type in $types; do printf '{"acltype":"%s","allow":false},' "$type"; done)
      printf '{"commands":[{"command":"setDefaultACLAccess","acls":[%s]}]}' "${acls%,}" |
        XDG_CONFIG_HOME=$work mosquitto_pub -V 5 -q 1 -t '$CONTROL/dynamic-security/v1' -s || fail "mosquitto_pub: check $connection"
      left=$(allowed_types)
      [ -z "$left" ] || fail "the broker still allows by default: $left"
    fi
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
    give_role "$user" "reader-$user" "publishClientReceive:$prefix/#" "subscribeLiteral:\$share/$group/$prefix/#" "unsubscribeLiteral:\$share/$group/$prefix/#" \
      "subscribePattern:$prefix/#" "unsubscribePattern:$prefix/#"
    echo "user $user reads $prefix/# in the group $group"
    ;;
  --operator)
    user=${2:?$usage}
    check "$user"
    prefix=$(prefix_of "${3:-gateside}")
    put_client "$user" "" "operator-$user"
    give_role "$user" "operator-$user" "publishClientSend:$prefix/+/#" "publishClientReceive:$prefix/#" "subscribePattern:$prefix/#" "unsubscribePattern:$prefix/#"
    echo "user $user operates $prefix/+/#"
    ;;
  *)
    site=$1
    check "$site"
    prefix=$(prefix_of "${2:-gateside}")
    put_client "$site" "gateside-$site" "box-$site"
    own="$prefix/$site/#"
    give_role "$site" "box-$site" "publishClientSend:$own" "publishClientReceive:$own" "subscribePattern:$own" "unsubscribePattern:$own"
    echo "MQTT_USERNAME=$site"
    echo "MQTT_CLIENT_ID=gateside-$site"
    ;;
esac
