#!/bin/sh
# Prints a number in Roman numerals: sh roman.sh 12
n=$1
out=
add() {
    while [ "$n" -ge "$1" ]; do
        out=$out$2
        n=$((n - $1))
    done
}
add 1000 M
add 500 D
add 100 C
add 50 L
add 10 X
add 5 V
add 1 I
echo "$out"
