#!/bin/sh
# create → poll until success, as a client with nothing but curl does it.
# usage: poll.sh URL KEY PROMPT
set -eu
url=$1 key=$2 prompt=$3

created=$(curl -sS --max-time 20 -u "bridge:$key" -H 'Content-Type: application/json' \
  -d "{\"prompt\":\"$prompt\"}" "$url/v1/task/create")
printf 'create: %s\n' "$created"
task=$(printf '%s' "$created" | sed -n 's/.*"task_id":"\([^"]*\)".*/\1/p')

tries=0
while :; do
  output=$(curl -sS --max-time 20 -u "bridge:$key" "$url/v1/task/output?task_id=$task")
  case "$output" in
    *'"retrieval_status":"success"'*) break ;;
    *'"retrieval_status":"pending"'*) ;;
    *) printf 'unexpected: %s\n' "$output"; exit 1 ;;
  esac
  tries=$((tries + 1))
  [ "$tries" -lt 400 ] || { echo "it takes too long: $output"; exit 1; }
  sleep 0.1
done
printf 'output: %s\n' "$output"
