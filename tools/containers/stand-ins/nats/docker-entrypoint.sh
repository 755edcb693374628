#!/bin/sh
# As the official image: options are those of nats-server.
set -e
case "$1" in
-*) set -- nats-server "$@" ;;
esac
exec "$@"
