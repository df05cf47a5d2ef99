#!/usr/bin/env bash
# Rights in RabbitMQ. May be repeated; passwords are read from standard input.
#   rights.sh SITE [PREFIX] < password                     a box: its own site's topics, under the client id that this prints (MQTT_CLIENT_ID) alone
#   rights.sh --reader USER [PREFIX [GROUP]] < password    a collector of that group: declares and reads its queue, publishes nothing
#   rights.sh --operator USER [PREFIX] < password          a person: sends commands and signed documents, reads results and states, retires boxes (`gateside fleet retire`), under the
#                             client id operator-USER. Clearing is publishing to the broker, so this user may publish everything below the sites; not for machines
# Topics are routing keys there: `/` becomes `.`, and dots in names stay. A box may publish and read below its own site only: it reads its commands and, after each
# connect, what the broker has retained for it. RabbitMQ 3.10 closes the connection of a client that subscribes to more than it may read, and binds no client id to a
# user: the id ends in 64 random bits, so that no other box can guess it and take the session over. Topics longer than 255 bytes are refused. Boxes must not reach the AMQP port (rabbitmq.conf): over AMQP,
# CC and dead-letter keys are not checked against these rights.
set -euo pipefail
usage="usage: rights.sh SITE [PREFIX] < password, rights.sh --reader USER [PREFIX [GROUP]] < password, or rights.sh --operator USER [PREFIX] < password"
refuse() { echo "error: $1" >&2; exit 2; }
check() { [[ $1 =~ ^[A-Za-z0-9._-]+$ ]] || refuse "$1 may contain only letters, digits, . _ and - here"; }
check_prefix() { [[ $1 =~ ^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$ ]] || refuse "$1 is not the beginning of a topic"; }
# Patterns end with \z: $ would let a name in that goes on with a line feed.
escape() { sed 's/\./\\./g' <<< "$1"; }
control() { rabbitmqctl -q "$@"; }
# The password on standard input is not for these.
list() { control --no-table-headers "$@" < /dev/null; }
# Administrators have tags.
check_user() { if grep -qP "^\Q$1\E\t\[.+\]" <<< "$(list list_users)"; then refuse "$1 is a user with tags; choose another name"; fi; }
# Refuses a user of these roles (box, collector, operator); sets `allowed`.
refuse_roles() {
  local role
  allowed=$(permissions "$1")
  for role in "${@:2}"; do
    case $role in
      box) [[ $allowed != *"^mqtt-subscription-gateside-"* ]] || refuse "$1 is the user of a box" ;;
      collector) [[ $allowed != *"^gateside-collect-"* ]] || refuse "$1 is the user of a collector" ;;
      *) [[ $allowed != *"^mqtt-subscription-(gsf"* ]] || refuse "$1 is the user of an operator" ;;
    esac
  done
}
permissions() { list list_user_permissions "$1" 2> /dev/null || true; }
# A text as a member of JSON.
json() { local text=${1//\\/\\\\}; printf '"%s"' "${text//\"/\\\"}"; }
# put_user USER CONFIGURE WRITE READ TOPICS-TO-WRITE TOPICS-TO-READ. All of it in one call, since each starts an Erlang machine. The password goes in by standard input: arguments are seen by
# everybody on this machine.
put_user() {
  local password user
  IFS= read -r password || [ -n "$password" ] || refuse "give the password on standard input"
  [[ $password != *[[:cntrl:]]* ]] || refuse "the password has control characters"
  user=$(json "$1")
  control import_definitions > /dev/null << EOF || refuse "RabbitMQ has not taken user and rights; see above"
{"users":[{"name":$user,"password":$(json "$password"),"tags":""}],
 "permissions":[{"user":$user,"vhost":"/","configure":$(json "$2"),"write":$(json "$3"),"read":$(json "$4")}],
 "topic_permissions":[{"user":$user,"vhost":"/","exchange":"amq.topic","write":$(json "$5"),"read":$(json "$6")}]}
EOF
}

put_reader() {
  local user=$1 prefix=$2 group=$3 queue=gateside-collect-$3 allowed own
  check "$user"
  check_prefix "$prefix"
  check "$group"
  if [ "$prefix" != gateside ]; then
    [[ $group != *-* ]] || refuse "a group with - is not told apart from a prefix in the queue's name; use a group without -"
    queue=$queue-${prefix//\//.}
  fi
  check_user "$user"
  refuse_roles "$user" box operator
  own="^$(escape "$queue")\\z"
  put_user "$user" "$own" "$own" "^($(escape "$queue")|amq\\.topic)\\z" '^$' "^$(escape "${prefix//\//.}")\\."
  echo "user $user reads $queue"
}

put_box() {
  local site=$1 prefix=$2 allowed user pattern other id queue own
  check "$site"
  check_prefix "$prefix"
  check_user "$site"
  refuse_roles "$site" collector operator
  local key=${prefix//\//.}.$site
  # A site that is, at a dot, the beginning of another would have that one's rights, too.
  while IFS=$'\t' read -r user _ pattern _; do
    [[ $user != "$site" && $pattern == ^* ]] || continue
    other=$(sed -E 's/^\^//; s/\\\.\.(\*\$|\{0,[0-9]+\}\\z)$//; s/\\\./\./g' <<< "$pattern")
    if [[ $other. == "$key".* || $key. == "$other".* ]]; then
      refuse "$key and $other (user $user) cannot be told apart at a dot; rename one of the sites"
    fi
  done < <(list list_topic_permissions)
  # The id that the user's rights already name.
  id=$(grep -o "gateside-[A-Za-z0-9._\\-]*-[0-9a-f]\{16\}" <<< "$allowed" | head -n 1 | sed 's/\\//g' || true)
  if [ -z "$id" ]; then id=gateside-$site-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n'); fi
  # Its own subscription queues, and the exchange of the MQTT plug-in.
  queue="mqtt-subscription-$(escape "$id")qos[01]"
  # RabbitMQ accepts a longer routing key than AMQP can carry (255 bytes), and then fails over its delivery.
  own="^$(escape "$key")\\..{0,$((254 - ${#key}))}\\z"
  put_user "$site" "^$queue\\z" "^($queue|amq\\.topic)\\z" "^($queue|amq\\.topic)\\z" "$own" "$own"
  echo "MQTT_USERNAME=$site"
  echo "MQTT_CLIENT_ID=$id"
}

put_operator() {
  local user=$1 prefix=$2 queue topics allowed
  check "$user"
  check_prefix "$prefix"
  check_user "$user"
  refuse_roles "$user" box collector
  # Sessions of `gateside fleet`, and the user's own: never one of a box, whose commands it would take.
  queue="mqtt-subscription-(gsf[0-9a-f]{16}|operator-$(escape "$user"))qos[01]"
  # Begins with \A and not with ^, by which put_box knows the topics of a box. 255 bytes as there.
  topics="\\A$(escape "${prefix//\//.}")\\..{0,$((254 - ${#prefix}))}\\z"
  put_user "$user" "^$queue\\z" "^($queue|amq\\.topic)\\z" "^($queue|amq\\.topic)\\z" "$topics" "$topics"
  echo "user $user operates $prefix/+/# with the client id operator-$user"
}

case ${1:?$usage} in
  --reader) put_reader "${2:?$usage}" "${3:-gateside}" "${4:-gateside}" ;;
  --operator) put_operator "${2:?$usage}" "${3:-gateside}" ;;
  -*) refuse "$usage" ;;
  *) put_box "$1" "${2:-gateside}" ;;
esac
