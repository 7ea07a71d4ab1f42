#!/bin/sh
# What has to be true of roman.sh. ralph runs this as a gate: it passes with exit code 0.
failed=0
expect() {
    got=$(sh roman.sh "$1")
    if [ "$got" != "$2" ]; then
        echo "$1: expected $2, got $got"
        failed=$((failed + 1))
    fi
}
expect 3 III
expect 4 IV
expect 9 IX
expect 15 XV
expect 40 XL
expect 90 XC
expect 1994 MCMXCIV
if [ "$failed" -gt 0 ]; then
    echo "$failed of 7 checks failed"
    exit 1
fi
echo "all 7 checks passed"
