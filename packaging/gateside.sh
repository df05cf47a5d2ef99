#!/bin/sh
# The command line of the installed agent: `gateside COMMAND`, or `gateside @NAME COMMAND` for the instance gateside@NAME.
# Settings are the service's own, unless the environment or --environment FILE has them.
config=/etc/gateside/gateside.env site=/etc/gateside/site.json data=/var/lib/gateside secrets=/etc/credstore/gateside
case "${1-}" in
  @?*)
    name=${1#@}; shift
    case "$name" in */* | .*) echo "error: @$name is no instance's name" >&2; exit 2 ;; esac
    config=/etc/gateside/$name.env site=/etc/gateside/$name.site.json data=/var/lib/gateside/$name secrets=$secrets.$name
    [ -e "$config" ] || [ ! -x /etc/gateside ] || { echo "error: there is no $config" >&2; exit 2; }
    ;;
esac
for word; do
  case "$word" in --environment | --environment=*) config='' ;; esac
done
is_set() { eval "[ \"\${$1+yes}\" = yes ]"; }

if [ -n "$config" ] && [ -r "$config" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in *=*) ;; *) continue ;; esac
    name=${line%%=*} value=${line#*=}
    case "$name" in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    case "$value" in
      \"*\") value=${value#\"}; value=${value%\"} ;;
      \'*\') value=${value#\'}; value=${value%\'} ;;
    esac
    is_set "$name" || export "$name=$value"
  done <"$config"
  # The unit's credentials, for who may read them: doctor and probe then see what the service sees.
  for pair in MQTT_USERNAME=mqtt.username MQTT_PASSWORD=mqtt.password HTTP_TOKEN=http.token GATEWAY_HEADERS=gateway.headers; do
    name=${pair%%=*} file=$secrets.${pair#*=}
    if [ -r "$file" ] && ! is_set "$name" && ! is_set "${name}_FILE"; then export "$name=$(cat "$file")"; fi
  done
elif [ -n "$config" ] && [ -d /etc/gateside ] && [ ! -x /etc/gateside ]; then
  echo "note: $config is for root and the service's user alone; with sudo its settings are used" >&2
fi
: "${SITE_FILE=$site}" "${DATA_DIR=$data}"
: "${MALLOC_ARENA_MAX=1}"
export SITE_FILE DATA_DIR MALLOC_ARENA_MAX
command=${1-}
set -- /usr/lib/gateside/node --max-semi-space-size=4 --max-old-space-size=128 --single-threaded-gc /usr/lib/gateside/gateside.js "$@"
# What writes the store does it as the service's user, who could not open root's files later.
case "$(id -u) $command" in
  '0 run' | '0 backfill' | '0 settings')
    if [ "$DATA_DIR" = "$data" ] && getent passwd gateside >/dev/null; then
      exec setpriv --reuid=gateside --regid=gateside --init-groups "$@"
    fi
    ;;
esac
exec "$@"
