#!/bin/sh
# The command line of the installed agent: `gateside COMMAND`, or `gateside @NAME COMMAND` for the instance gateside@NAME.
# Settings are those of the service, unless the environment or --environment FILE overrides them.
config=/etc/gateside/gateside.env site=/etc/gateside/site.json data=/var/lib/gateside secrets=/etc/credstore/gateside
case "${1-}" in
  @?*)
    name=${1#@}; shift
    case "$name" in */* | .*) echo "error: @$name is not a valid instance name" >&2; exit 2 ;; esac
    config=/etc/gateside/$name.env site=/etc/gateside/$name.site.json data=/var/lib/gateside/$name secrets=$secrets.$name
    [ -e "$config" ] || [ ! -x /etc/gateside ] || { echo "error: $config does not exist" >&2; exit 2; }
    ;;
esac
pem_files="MQTT_KEY_FILE=mqtt.key MQTT_CERT_FILE=mqtt.cert MQTT_CA_FILE=mqtt.ca GATEWAY_CA_FILE=gateway.ca ALARM_WEBHOOK_CA_FILE=alarm.webhook.ca HTTP_CERT_FILE=http.cert HTTP_KEY_FILE=http.key CONFIG_PUBLIC_KEY_FILE=config.public.key"
secret_files="MQTT_USERNAME=mqtt.username MQTT_PASSWORD=mqtt.password MQTT_PROXY=mqtt.proxy HTTP_TOKEN=http.token HTTP_VIEW_TOKEN=http.view.token GATEWAY_HEADERS=gateway.headers GATEWAY_PROXY=gateway.proxy ALARM_WEBHOOK_URL=alarm.webhook.url ALARM_WEBHOOK_HEADERS=alarm.webhook.headers ALARM_WEBHOOK_SECRET=alarm.webhook.secret HEARTBEAT_URL=heartbeat.url ALARM_EMAIL_URL=alarm.email.url"
as_service=yes
# Where what is exported here comes from, a line each: to the program it is all its environment.
GATESIDE_ORIGINS=
from() {
  GATESIDE_ORIGINS="$GATESIDE_ORIGINS$1=$2
"
}
for word; do
  case "$word" in
    --environment | --environment=*) config='' ;;
    # Written to root's current directory, which the service's user may not write to.
    --bundle | --bundle=*) as_service=no ;;
  esac
done
is_set() { eval "[ \"\${$1+yes}\" = yes ]"; }

# The .env file that the program adds is that of the unit's working directory, not of the one where somebody stands.
[ -z "$config" ] || export GATESIDE_DOTENV=/dev/null
if [ -n "$config" ] && [ -r "$config" ]; then
  GATESIDE_DOTENV=${config%/*}/.env
  # As systemd (parse_env_file_internal, src/basic/env-file.c), state by state; src/config/service-environment.ts reads alike.
  from_file=' '
  lines=$(LC_ALL=C awk '
    function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
    function push() {
      if (state == "value" && blanks) value = substr(value, 1, length(value) - blanks)
      sub(/[ \t]+$/, "", key)
      print "setting " line " " quoted(key) " " quoted(value)
      state = ""; key = value = ""; blanks = 0
    }
    { text = text $0 "\n" }
    END {
      size = length(text); at_line = 1
      for (i = 1; i <= size; i++) {
        c = substr(text, i, 1)
        is_end = c == "\n" || c == "\r"; is_blank = is_end || c == " " || c == "\t"
        if (state == "") {
          if (c == "#" || c == ";") state = "comment"
          else if (!is_blank) { state = "key"; key = c; line = at_line }
        } else if (state == "key") {
          if (is_end) { print "no_setting " line; state = "" }
          else if (c == "=") state = "before"
          else key = key c
        } else if (state == "before") {
          if (is_end) push()
          else if (c == "\047") state = "single"
          else if (c == "\"") state = "double"
          else if (c == "\\") state = "escape"
          else if (!is_blank) { state = "value"; value = value c; blanks = 0 }
        } else if (state == "value") {
          if (is_end) push()
          else if (c == "\\") { state = "escape"; blanks = 0 }
          else { blanks = is_blank ? blanks + 1 : 0; value = value c }
        } else if (state == "escape") {
          state = "value"
          if (!is_end) value = value c
          if (c ~ /[A-Za-z0-9]/) print "backslash " at_line " " quoted(key)
        } else if (state == "single") {
          if (c == "\047") state = "before"; else value = value c
        } else if (state == "double") {
          if (c == "\"") state = "before"; else if (c == "\\") state = "double escape"; else value = value c
        } else if (state == "double escape") {
          state = "double"
          if (c == "\"" || c == "\\" || c == "`" || c == "$") value = value c
          else if (c != "\n") value = value "\\" c
        } else if (state == "comment" && is_end) {
          if (before == "\\") print "comment_escape " at_line
          state = ""
        }
        before = c
        if (c == "\n") at_line++
      }
      if (state != "" && state != "key" && state != "comment") push()
    }' "$config")
  warn() { echo "warning: $config:$1: $2" >&2; }
  no_setting() { warn "$1" "is not a NAME=value line and has no effect, here or in the service; correct it (without export), or put a # in front of it"; }
  backslash() { warn "$1" "the service leaves out the backslash in the value of $2; write two"; }
  comment_escape() { warn "$1" "a comment ends in a backslash: systemd before 254 takes the next line for a part of it; remove the backslash"; }
  setting() {
    case "$2" in '' | [0-9]* | *[!A-Za-z0-9_]*) no_setting "$1"; return ;; esac
    case "$from_file" in
      *" $2 "*)
        eval "earlier=\$$2"
        [ "$earlier" = "$3" ] || warn "$1" "sets $2 to another value than a line before, and the last line counts; keep one of the two"
        export "$2=$3"
        ;;
      *) is_set "$2" || { export "$2=$3"; from_file="$from_file$2 "; from "$2" "$config"; } ;;
    esac
  }
  eval "$lines"
  # The unit's credentials, if this user may read them: doctor and probe then use what the service uses.
  for pair in $secret_files; do
    name=${pair%%=*} file=$secrets.${pair#*=}
    if [ -r "$file" ] && ! is_set "$name" && ! is_set "${name}_FILE"; then export "$name=$(cat "$file")"; from "$name" credential; fi
  done
  for pair in $pem_files; do
    name=${pair%%=*} file=$secrets.${pair#*=}
    if [ -r "$file" ] && ! is_set "$name"; then export "$name=$file"; from "$name" credential; fi
  done
  # A name that no unit reads, unless somebody's drop-in does; those of instances end alike.
  case "${1-}" in
    check | doctor)
      for file in "$secrets".*; do
        [ -e "$file" ] || continue
        is_known=no
        for pair in $secret_files $pem_files; do
          case "$file" in *".${pair#*=}") is_known=yes ;; esac
        done
        if [ $is_known = no ] && ! grep -rqsF "${file##*/}" /etc/systemd/system; then
          echo "warning: $file: no unit reads a credential of this name; docs/security.md lists the names" >&2
        fi
      done
      ;;
  esac
elif [ -n "$config" ] && [ -d /etc/gateside ] && [ ! -x /etc/gateside ]; then
  case "${1-}${GATEWAY_URL-}" in
    # Every setting would be told as missing.
    check | doctor) echo "error: only root and the service's user can read $config: use sudo" >&2; exit 2 ;;
    *) echo "note: only root and the service's user can read $config; use sudo to apply its settings" >&2 ;;
  esac
fi
: "${SITE_FILE=$site}" "${DATA_DIR=$data}"
: "${MALLOC_ARENA_MAX=1}"
export SITE_FILE DATA_DIR MALLOC_ARENA_MAX GATESIDE_ORIGINS
command=${1-}
# The agent's memory is kept small; the receiving end works in batches on a larger machine.
case "$command" in
  collect) set -- /usr/lib/gateside/node --max-old-space-size=1024 /usr/lib/gateside/gateside.js "$@" ;;
  *) set -- /usr/lib/gateside/node --max-semi-space-size=4 --max-old-space-size=128 --single-threaded-gc --no-separate-gc-phases /usr/lib/gateside/launch.js "$@" ;;
esac
# Commands that write the store run as the service's user, who could not open root's files later. So do commands that test the settings,
# because root can read everything and the service cannot.
case "$(id -u) $command" in
  '0 run' | '0 backfill' | '0 settings' | '0 check' | '0 doctor' | '0 rollback')
    # Of another DATA_DIR its owner, which is the service's user.
    owner=gateside
    [ "$DATA_DIR" = "$data" ] || owner=$(stat -L -c %u "$DATA_DIR" 2>/dev/null || echo 0)
    if [ "$owner" != 0 ] && [ $as_service = yes ] && getent passwd gateside >/dev/null; then
      groups=--init-groups
      if getent passwd "$owner" >/dev/null; then group=$(id -g "$owner"); else group=$(stat -L -c %g "$DATA_DIR") groups=--clear-groups; fi
      # The unit's working directory; that user could not enter root's own.
      if [ -n "$config" ] && [ -d "${config%/*}" ]; then cd "${config%/*}"; fi
      # systemd passes copies to the service; its user could not read those in /etc/credstore.
      own=
      for pair in $pem_files; do
        name=${pair%%=*}
        eval "path=\${$name-}"
        case "$path" in "$secrets".*) ;; *) continue ;; esac
        [ -n "$own" ] || { own=$(mktemp -d /run/gateside-XXXXXX) && chown "$owner:$group" "$own"; }
        install -m 0400 -o "$owner" -g "$group" "$path" "$own/${pair#*=}"
        # As the unit gets it: a path of this command alone would be another setting than the running agent's.
        unset "$name"; export CREDENTIALS_DIRECTORY="$own"
      done
      if [ -z "$own" ]; then exec setpriv --reuid="$owner" --regid="$group" $groups "$@"; fi
      trap 'rm -rf "$own"' EXIT
      trap 'exit 130' INT
      trap 'exit 143' TERM
      setpriv --reuid="$owner" --regid="$group" $groups "$@"
      exit $?
    fi
    ;;
esac
exec "$@"
