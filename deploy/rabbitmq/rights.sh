#!/usr/bin/env bash
# Rights of one box in RabbitMQ: rights.sh SITE [PREFIX], with the password on standard input. May be repeated: the client id stays.
# Topics are routing keys there: `/` becomes `.`, and dots in names stay. A box may publish and read below its own site only: it reads its commands and, after each
# connect, what the broker has retained for it. RabbitMQ 3.10 closes the connection of a client that subscribes to more than it may read, and binds no client id to a
# user: the id ends in 64 random bits, so that no other box can guess it and take the session over. Topics longer than 255 bytes are refused. Boxes must not reach the AMQP port (rabbitmq.conf): over AMQP,
# CC and dead-letter keys are not checked against these rights.
set -euo pipefail
site=${1:?usage: rights.sh SITE [PREFIX] < password}
prefix=${2:-gateside}
[[ $site =~ ^[A-Za-z0-9._-]+$ ]] || { echo "error: a site name may contain only letters, digits, . _ and - here" >&2; exit 2; }
[[ $prefix =~ ^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$ ]] || { echo "error: $prefix is not the beginning of a topic" >&2; exit 2; }
IFS= read -r password || [ -n "$password" ] || { echo "error: give the password on standard input" >&2; exit 2; }
escape() { sed 's/\./\\./g' <<< "$1"; }
key=${prefix//\//.}.$site

# A site that is, at a dot, the beginning of another would have that one's rights, too.
while IFS=$'\t' read -r user _ pattern _; do
  [[ $user != "$site" && $pattern == ^* ]] || continue
  other=$(sed -E 's/^\^//; s/\\\.\.(\*\$|\{0,[0-9]+\}\\z)$//; s/\\\./\./g' <<< "$pattern")
  if [[ $other. == "$key".* || $key. == "$other".* ]]; then
    echo "error: $key and $other (user $user) cannot be told apart at a dot; rename one of the sites" >&2
    exit 2
  fi
done < <(rabbitmqctl -q --no-table-headers list_topic_permissions)

# The id that the user's rights already name.
id=$(rabbitmqctl -q --no-table-headers list_user_permissions "$site" 2> /dev/null | grep -o "gateside-[A-Za-z0-9._\\-]*-[0-9a-f]\{16\}" | head -n 1 | sed 's/\\//g' || true)
if [ -z "$id" ]; then id=gateside-$site-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n'); fi
# The password goes in by standard input: arguments are seen by everybody on this machine.
rabbitmqctl -q add_user "$site" <<< "$password" 2> /dev/null > /dev/null || rabbitmqctl -q change_password "$site" <<< "$password" > /dev/null
# Its own subscription queues, and the exchange of the MQTT plug-in.
queue="mqtt-subscription-$(escape "$id")qos[01]"
rabbitmqctl -q set_permissions "$site" "^$queue\$" "^($queue|amq\\.topic)\$" "^($queue|amq\\.topic)\$"
# RabbitMQ accepts a longer routing key than AMQP can carry (255 bytes), and then fails over its delivery.
own="^$(escape "$key")\\..{0,$((254 - ${#key}))}\\z"
rabbitmqctl -q set_topic_permissions "$site" amq.topic "$own" "$own"
echo "MQTT_USERNAME=$site"
echo "MQTT_CLIENT_ID=$id"
