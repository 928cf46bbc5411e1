#!/bin/sh
# Makes a Citus cluster on this machine: a coordinator and two workers, on PostgreSQL of the system.
#
#   test/support/citus.sh build <sources>   builds and installs Citus from its unpacked sources (v13.2.2), as root
#   test/support/citus.sh start <folder>    makes the cluster in an empty folder, or starts what is there; prints its address
#   test/support/citus.sh stop <folder>     stops it
#
# To build on Debian 12: postgresql-15, postgresql-server-dev-15 in the same version, flex, bison, and the dev packages of
# lz4, zstd, krb5, ssl, selinux, pam, xslt, xml2 and readline. PG_CONFIG names another server's pg_config, CITUS_PORT the
# coordinator's port (the workers have the next two), CITUS_USER who runs the servers when root starts them.
set -eu

PG_CONFIG=${PG_CONFIG:-pg_config}
PORT=${CITUS_PORT:-9700}
RUN_AS=${CITUS_USER:-postgres}
bin=$("$PG_CONFIG" --bindir)
nodes="0 1 2"

usage() { sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2; }

# Servers refuse to be run by root.
as_user() {
  if [ "$(id -u)" = 0 ]; then runuser -u "$RUN_AS" -- "$@"; else "$@"; fi
}

settings() {
  cat <<SETTINGS
shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
port = $1
unix_socket_directories = ''
wal_level = logical
max_connections = 400
max_prepared_transactions = 400
max_worker_processes = 80
max_locks_per_transaction = 256
# Each test file has databases of its own; nothing of them has to outlive a crash.
fsync = off
synchronous_commit = off
full_page_writes = off
# Looks over all shards take one connection to each worker, and distributed deadlocks are looked for soon.
citus.max_adaptive_executor_pool_size = 1
citus.distributed_deadlock_detection_factor = 1.0
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
SETTINGS
}

build() {
  cd "$1"
  PG_CONFIG=$PG_CONFIG ./configure --without-libcurl
  make -j "$(nproc)"
  make install
}

start() {
  folder=$1
  mkdir -p "$folder"
  [ "$(id -u)" != 0 ] || chown "$RUN_AS" "$folder"
  for node in $nodes; do
    data=$folder/node$node
    if [ ! -d "$data" ]; then
      (cd "$folder" && as_user "$bin/initdb" -D "$data" -U postgres --auth=trust --encoding=UTF8 --no-locale --no-sync >/dev/null)
      settings $((PORT + node)) | as_user tee -a "$data/postgresql.conf" >/dev/null
    fi
    (cd "$folder" && as_user "$bin/pg_ctl" -D "$data" -l "$data/log" -w start >/dev/null)
  done
  psql() { "$bin/psql" -q -X -o /dev/null -h 127.0.0.1 -p "$PORT" -U postgres -d postgres -c "$1"; }
  # Where the nodes are is known in this database; those of the tests are made on all of them.
  psql 'create extension if not exists citus'
  psql "select citus_set_coordinator_host('127.0.0.1', $PORT)"
  for node in $nodes; do
    [ "$node" = 0 ] && continue
    "$bin/psql" -q -X -h 127.0.0.1 -p $((PORT + node)) -U postgres -d postgres -c 'create extension if not exists citus'
    psql "select citus_add_node('127.0.0.1', $((PORT + node)))"
  done
  echo "postgresql://postgres@127.0.0.1:$PORT/postgres"
}

stop() {
  for node in $nodes; do
    (cd "$1" && as_user "$bin/pg_ctl" -D "$1/node$node" -m immediate stop >/dev/null) || true
  done
}

[ $# = 2 ] || usage
case $1 in
  build | start | stop) "$1" "$(cd "$(dirname "$2")" && pwd)/$(basename "$2")" ;;
  *) usage ;;
esac
