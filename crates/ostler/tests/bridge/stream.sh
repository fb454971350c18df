#!/bin/sh
# create → stream → permission → done, as a client with nothing but curl does it.
# usage: stream.sh URL KEY PROMPT
set -eu
url=$1 key=$2 prompt=$3

created=$(curl -sS --max-time 20 -u "x:$key" -d "{\"prompt\":\"$prompt\"}" "$url/v1/task/create")
printf 'create: %s\n' "$created"
task=$(printf '%s' "$created" | sed -n 's/.*"task_id":"\([^"]*\)".*/\1/p')

# The stream closes by itself behind its last record.
curl -sS -N --max-time 60 -u "x:$key" "$url/v1/task/output/stream?task_id=$task" | while IFS= read -r line; do
  case "$line" in
    'data: '*) printf '%s\n' "$line" ;;
    '') continue ;;
    *) printf 'unexpected: %s\n' "$line" ;;
  esac
  case "$line" in
    *'"type":"permission_request"'*)
      answer=$(curl -sS --max-time 20 -u "x:$key" -d "{\"task_id\":\"$task\",\"behavior\":\"allow\"}" "$url/v1/task/permission")
      printf 'permission: %s\n' "$answer"
      ;;
  esac
done
