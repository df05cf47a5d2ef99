#!/usr/bin/env bash
# Creates or extends a signed apt repository:  scripts/apt-repository.sh DIRECTORY KEY-ID [package.deb …]
# Without packages it takes those of dist/packages, both architectures. The directory is served as it is by any web server; conf/ and db/
# inside it stay private. With --prove it shows in a temporary directory that apt installs and upgrades from such a repository (as root).
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "error: $1" >&2; exit 2; }
command -v reprepro >/dev/null || fail "reprepro is not installed (apt-get install reprepro)"
command -v gpg >/dev/null || fail "gpg is not installed (apt-get install gnupg)"

publish() { # directory, key id, packages…
  local directory=$1 key=$2; shift 2
  mkdir -p "$directory/conf"
  cat >"$directory/conf/distributions" <<EOF
Origin: Gateside
Label: Gateside
Codename: stable
Architectures: amd64 arm64
Components: main
Description: Gateside edge agent
SignWith: $key
EOF
  chmod 700 "$directory/conf"
  # One at a time: a version that already exists is not a failure; different content under the same version is.
  for package in "$@"; do reprepro --silent --basedir "$directory" includedeb stable "$package"; done
  gpg --batch --yes --armor --output "$directory/gateside.asc" --export "$key"
  cat >"$directory/gateside.sources" <<EOF
Types: deb
URIs: https://packages.example/gateside
Suites: stable
Components: main
Signed-By: /etc/apt/keyrings/gateside.asc
EOF
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
  chmod -R a+rX "$work"; chmod 700 "$GNUPGHOME"
  apt_here() {
    apt-get -qq -o Dir::State="$root/state" -o Dir::State::status="$root/dpkg/status" -o Dir::Cache="$root/cache" -o Dir::Etc="$root/etc" \
      -o Dir::Etc::sourcelist="$root/etc/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Log="$root" -o APT::Sandbox::User=root -o Acquire::Languages=none \
      -o Dpkg::Options::="--root=$root" -o Dpkg::Options::="--force-script-chrootless" -o Dpkg::Options::="--admindir=$root/dpkg" -o Dpkg::Options::="--log=$root/log" "$@"
  }
  publish "$work/repository" "$key" "$work"/gateside_0.2.0-1_*.deb
  apt_here update
  apt_here install -y gateside >/dev/null
  [ "$(cat "$root/usr/share/gateside-proof/version")" = 0.2.0-1 ] || fail "not installed"
  echo "ok - apt installs from the signed repository"
  publish "$work/repository" "$key" "$work"/gateside_0.2.1-1_*.deb
  apt_here update
  apt_here upgrade -y >/dev/null
  [ "$(cat "$root/usr/share/gateside-proof/version")" = 0.2.1-1 ] || fail "not upgraded"
  echo "ok - apt upgrades to the newer version"
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
[ $# -ge 2 ] || fail "usage: scripts/apt-repository.sh DIRECTORY KEY-ID [package.deb …]"
directory=$1 key=$2; shift 2
[ $# -gt 0 ] || set -- dist/packages/*.deb
[ -e "$1" ] || fail "no packages: npm run package makes them"
publish "$directory" "$key" "$@"
reprepro --basedir "$directory" list stable
