#!/usr/bin/env bash
# Creates or extends a signed apt repository:  scripts/apt-repository.sh [--canary] DIRECTORY KEY-ID [package.deb …]
# Without packages it takes those of dist/packages, both architectures. They go to the suite stable, and what was there to previous; or to canary,
# from where  scripts/apt-repository.sh --promote DIRECTORY KEY-ID  takes them to stable. The directory is served as it is by any web server; conf/
# and db/ inside it stay private. With --prove it shows in a temporary directory that apt installs and upgrades from such a repository (as root).
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "error: $1" >&2; exit 2; }
command -v reprepro >/dev/null || fail "reprepro is not installed (apt-get install reprepro)"
command -v gpg >/dev/null || fail "gpg is not installed (apt-get install gnupg)"

suites() { # directory, key id: reprepro keeps one version in each
  mkdir -p "$1/conf"
  for suite in stable canary previous; do
    printf 'Origin: Gateside\nLabel: Gateside\nCodename: %s\nArchitectures: amd64 arm64\nComponents: main\nDescription: Gateside edge agent\nSignWith: %s\n\n' "$suite" "$2"
  done >"$1/conf/distributions"
  chmod 700 "$1/conf"
}
versions() { reprepro --silent --basedir "$1" list "$2" gateside | awk '{ print $3 }' | sort -u; } # directory, suite
copy() { reprepro --silent --basedir "$1" copy "$2" "$3" gateside; } # directory, to, from

publish() { # directory, key id, suite, packages…
  local directory=$1 key=$2 to=$3 version before; shift 3
  suites "$directory" "$key"
  version=$(dpkg-deb -f "$1" Version)
  before=$(versions "$directory" stable)
  if [ "$to" = stable ] && [ -n "$before" ] && [ "$before" != "$version" ]; then copy "$directory" previous stable; fi
  # One at a time: a version that already exists is not a failure; different content under the same version is.
  for package in "$@"; do reprepro --silent --basedir "$directory" includedeb "$to" "$package"; done
  reprepro --silent --basedir "$directory" export
  gpg --batch --yes --armor --output "$directory/gateside.asc" --export "$key"
  cat >"$directory/gateside.sources" <<EOF
Types: deb
URIs: https://packages.example/gateside
Suites: stable previous
Components: main
Signed-By: /etc/apt/keyrings/gateside.asc
EOF
}

promote() { # directory, key id
  suites "$1" "$2"
  local next before; next=$(versions "$1" canary); before=$(versions "$1" stable)
  [ -n "$next" ] || fail "no version is in canary"
  [ "$before" != "$next" ] || fail "$next is in stable already"
  [ -z "$before" ] || copy "$1" previous stable
  copy "$1" stable canary
}

prove() { # with small packages of the same name: what is proved is repository, signature and upgrade, not the program
  work=$(mktemp -d)
  trap 'gpgconf --kill gpg-agent 2>/dev/null || true; rm -rf "$work"' EXIT
  export GNUPGHOME=$work/gnupg
  mkdir -m 700 "$GNUPGHOME"
  gpg --batch --quiet --passphrase '' --quick-generate-key 'Gateside proof <proof@localhost>' rsa2048 sign never 2>/dev/null
  local key; key=$(gpg --list-keys --with-colons | awk -F: '$1 == "fpr" { print $10; exit }')
  make_package() { # version, architecture
    local tree=$work/tree-$1-$2
    mkdir -p "$tree/DEBIAN" "$tree/usr/share/gateside-proof"
    echo "$1" >"$tree/usr/share/gateside-proof/version"
    printf 'Package: gateside\nVersion: %s\nArchitecture: %s\nMaintainer: Proof <proof@localhost>\nSection: net\nPriority: optional\nDescription: proof\n' "$1" "$2" >"$tree/DEBIAN/control"
    dpkg-deb --root-owner-group --build "$tree" "$work/gateside_$1_$2.deb" >/dev/null
  }
  for architecture in amd64 arm64; do make_package 0.2.0-1 $architecture; make_package 0.2.1-1 $architecture; done

  # With an apt configuration of its own: this machine's packages are not touched.
  local root=$work/root
  mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial" "$root/etc/preferences.d" "$root/dpkg/updates" "$root/dpkg/info"
  touch "$root/dpkg/status" "$root/dpkg/available"
  echo "deb [signed-by=$work/repository/gateside.asc] file:$work/repository stable main" >"$root/etc/sources.list"
  echo "deb [signed-by=$work/repository/gateside.asc] file:$work/repository previous main" >>"$root/etc/sources.list"
  chmod -R a+rX "$work"; chmod 700 "$GNUPGHOME"
  apt_here() {
    apt-get -qq -o Dir::State="$root/state" -o Dir::State::status="$root/dpkg/status" -o Dir::Cache="$root/cache" -o Dir::Etc="$root/etc" \
      -o Dir::Etc::sourcelist="$root/etc/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Log="$root" -o APT::Sandbox::User=root -o Acquire::Languages=none \
      -o Dpkg::Options::="--root=$root" -o Dpkg::Options::="--force-script-chrootless" -o Dpkg::Options::="--admindir=$root/dpkg" -o Dpkg::Options::="--log=$root/log" "$@"
  }
  publish "$work/repository" "$key" stable "$work"/gateside_0.2.0-1_*.deb
  apt_here update
  apt_here install -y gateside >/dev/null
  [ "$(cat "$root/usr/share/gateside-proof/version")" = 0.2.0-1 ] || fail "not installed"
  echo "ok - apt installs from the signed repository"
  publish "$work/repository" "$key" canary "$work"/gateside_0.2.1-1_*.deb
  apt_here update
  apt_here upgrade -y >/dev/null
  [ "$(cat "$root/usr/share/gateside-proof/version")" = 0.2.0-1 ] || fail "a box without canary got its version"
  echo "ok - a version in canary is only for boxes that have this suite"
  promote "$work/repository" "$key"
  apt_here update
  apt_here upgrade -y >/dev/null
  [ "$(cat "$root/usr/share/gateside-proof/version")" = 0.2.1-1 ] || fail "not upgraded"
  echo "ok - apt upgrades to the newer version"
  apt_here install -y --allow-downgrades gateside=0.2.0-1 >/dev/null
  [ "$(cat "$root/usr/share/gateside-proof/version")" = 0.2.0-1 ] || fail "not taken back"
  echo "ok - the version before is still there for a box that goes back"
  for architecture in amd64 arm64; do
    grep -q '^Version: 0.2.1-1$' "$work/repository/dists/stable/main/binary-$architecture/Packages" || fail "no $architecture"
  done
  echo "ok - both architectures are there"
  # A tampered index must be rejected.
  sed -i 's/Label: Gateside/Label: Changed!/' "$work/repository/dists/stable/InRelease"
  if apt_here update 2>/dev/null && ! apt_here update 2>&1 | grep -qiE 'invalid|BADSIG|not signed|err'; then fail "a changed repository is accepted"; fi
  echo "ok - a repository with a broken signature is refused"
}

[ "${1-}" != --prove ] || { prove; exit 0; }
usage="usage: scripts/apt-repository.sh [--canary | --promote] DIRECTORY KEY-ID [package.deb …]"
suite=stable
case "${1-}" in
  --canary) suite=canary; shift ;;
  --promote) [ $# = 3 ] || fail "$usage"; promote "$2" "$3"; exit 0 ;;
esac
[ $# -ge 2 ] || fail "$usage"
directory=$1 key=$2; shift 2
[ $# -gt 0 ] || set -- dist/packages/*.deb
[ -e "$1" ] || fail "no packages: npm run package makes them"
publish "$directory" "$key" "$suite" "$@"
for suite in canary stable previous; do reprepro --basedir "$directory" list "$suite"; done
