#!/bin/sh
# As the official image: options are those of haproxy, which runs in the foreground.
set -e
case "$1" in
-*) set -- haproxy "$@" ;;
esac
if [ "$1" = haproxy ]; then
  shift
  set -- haproxy -W -db "$@"
fi
exec "$@"
