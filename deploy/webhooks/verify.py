import base64
import hashlib
import hmac
import re

TOLERANCE_SECONDS = 300


def is_from_callagent(secret: str, id: str, timestamp: str, signature: str, body: bytes, now_seconds: float) -> bool:
    """Whether callagent sent this: body is the request body as it came, byte for byte; now_seconds is time.time()."""
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(now_seconds - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(entry.encode(), expected) for entry in signature.split(" "))
