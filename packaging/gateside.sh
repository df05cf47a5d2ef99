#!/bin/sh
# The command line of the installed agent. Settings come from /etc/gateside/gateside.env unless the environment has them.
config=/etc/gateside/gateside.env
if [ -r "$config" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in
      ''|'#'*|';'*) continue ;;
    esac
    name=${line%%=*}
    case "$name" in *[!A-Za-z0-9_]*|'') continue ;; esac
    value=${line#*=}
    case "$value" in
      \"*\") value=${value#\"}; value=${value%\"} ;;
      \'*\') value=${value#\'}; value=${value%\'} ;;
    esac
    eval "present=\${$name+yes}"
    if [ "$present" != yes ]; then export "$name=$value"; fi
  done < "$config"
fi
: "${SITE_FILE=/etc/gateside/site.json}" "${DATA_DIR=/var/lib/gateside}"
export SITE_FILE DATA_DIR
exec /usr/lib/gateside/node --max-semi-space-size=1 --max-old-space-size=128 /usr/lib/gateside/gateside.js "$@"
