#!/usr/bin/env bash
# Fetch torch's tests of its writer, which are only published in Debian's source package.
#
# Usage: fetch_torch_suite.sh FOLDER
#
# The package index is read into FOLDER, from the mirrors configured on this machine. This
# needs no root, and leaves the machine's own package lists unchanged.
set -euo pipefail

command -v apt-get >/dev/null || { echo "apt-get is not installed." >&2 && exit 1; }
mkdir -p "$1/lists/partial"
cd "$1"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")

# Entries of the release itself, as entries for source packages.
shopt -s nullglob
cat /dev/null /etc/apt/sources.list.d/*.sources |
    awk -v RS= -v suite="[[:space:]]$codename([[:space:]]|$)" '
        match($0, /Suites:[^\n]*/) && substr($0, RSTART, RLENGTH) ~ suite {
            sub(/Types:[^\n]*/, "Types: deb-src")
            print $0 "\n"
        }' >distribution.sources
cat /dev/null /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE "s/^deb( .* $codename .*)/deb-src\1/p" >distribution.list || true

apt=(apt-get -qq
    -o "Dir::Etc::SourceList=-" -o "Dir::Etc::SourceParts=$PWD"
    -o "Dir::State=$PWD" -o "Dir::Cache=$PWD" -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" --download-only --tar-only source pytorch
tar -xf pytorch_*.orig.tar.* --strip-components=1 --wildcards \
    '*/test/test_tensorboard.py' '*/test/expect/TestTensorBoard*'
rm -r lists pytorch_*.orig.tar.*
