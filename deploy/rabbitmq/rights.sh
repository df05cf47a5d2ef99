#!/usr/bin/env bash
# Permissions of one box in RabbitMQ: rights.sh SITE, with the password on standard input. Topics are routing keys there: `/` becomes `.`.
# A box may publish and read below its own site only. It reads its commands and, after each connect, what the broker has retained for it. RabbitMQ 3.10
# closes the connection of a client that subscribes to more than it may read.
set -euo pipefail
site=${1:?usage: rights.sh SITE < password}
[[ $site =~ ^[A-Za-z0-9_-]+$ ]] || { echo "error: a site name may contain only letters, digits, _ and - here" >&2; exit 2; }
rabbitmqctl add_user "$site" || rabbitmqctl change_password "$site"
# Its own subscription queue, and the exchange of the MQTT plug-in.
rabbitmqctl set_permissions "$site" "^mqtt-subscription-gateside-$site" "^(mqtt-subscription-gateside-$site|amq\.topic)" "^(mqtt-subscription-gateside-$site|amq\.topic)"
rabbitmqctl set_topic_permissions "$site" amq.topic "^gateside\.$site\." "^gateside\.$site\."
