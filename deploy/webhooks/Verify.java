import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Verify {
    private static final long TOLERANCE_SECONDS = 300;

    /** Whether callagent sent this: body is the request body as it came, byte for byte; nowSeconds is Instant.now().getEpochSecond(). */
    public static boolean isFromCallagent(
            String secret, String id, String timestamp, String signature, byte[] body, long nowSeconds)
            throws GeneralSecurityException {
        if (!timestamp.matches("[0-9]{1,12}")) return false;
        if (Math.abs(nowSeconds - Long.parseLong(timestamp)) > TOLERANCE_SECONDS) return false;
        byte[] key = Base64.getDecoder().decode(secret.startsWith("whsec_") ? secret.substring(6) : secret);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
        for (String entry : signature.split(" "))
            if (MessageDigest.isEqual(entry.getBytes(StandardCharsets.UTF_8), expected)) return true;
        return false;
    }
}
