<?php
// Tells for each line of stdin (secret, id, timestamp, signature, body in base64, now; by tabs) whether verify.php takes it.
require $argv[1];
while (($line = fgets(STDIN)) !== false) {
    [$secret, $id, $timestamp, $signature, $body, $now] = explode("\t", rtrim($line, "\n"));
    $ours = isFromCallagent($secret, $id, $timestamp, $signature, base64_decode($body), (int) $now);
    echo $ours ? "ours\n" : "not ours\n";
}
