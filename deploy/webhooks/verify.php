<?php
const TOLERANCE_SECONDS = 300;

/** Whether callagent sent this: $body is the request body as it came (file_get_contents('php://input')); $nowSeconds is time(). */
function isFromCallagent(
    string $secret, string $id, string $timestamp, string $signature, string $body, int $nowSeconds
): bool {
    if (!preg_match('/\A[0-9]{1,12}\z/', $timestamp) || abs($nowSeconds - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $key = base64_decode(str_starts_with($secret, 'whsec_') ? substr($secret, 6) : $secret);
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signature) as $entry) {
        if (hash_equals($expected, $entry)) {
            return true;
        }
    }
    return false;
}
