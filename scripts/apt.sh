#!/bin/sh
# Install programs that the tests use and that no package of Python or npm brings: COMMAND=PACKAGE... of those that are
# missing. Only for root on Debian; where it cannot be done, the tests that need the program are skipped, and say so.
set -u
wanted=
for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null 2>&1 || wanted="$wanted ${pair#*=}"
done
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "missing:$wanted; the tests that need it will be skipped"
    exit 0
fi
echo "apt-get install$wanted"
log=$(mktemp)
case "$wanted" in *postgresql*) # the tests make clusters of their own: none is to be made, and started, here
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf ;;
esac
export DEBIAN_FRONTEND=noninteractive
# One by one: a package that is not to be had must not take the others with it.
timeout 100 apt-get -qq update >"$log" 2>&1
for package in $wanted; do
    timeout 240 apt-get -qq install --yes --no-install-recommends -o Dpkg::Options::=--force-confold "$package" >>"$log" 2>&1 || {
        echo "$package could not be installed: the tests that need it will be skipped"
        tail -n 3 "$log"
    }
done
rm -f "$log"
exit 0
