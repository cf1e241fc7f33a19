import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Tells for each line of stdin (secret, id, timestamp, signature, body in base64, now; by tabs) whether Verify.java takes it. */
public final class Run {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] f = line.split("\t", -1);
            byte[] body = Base64.getDecoder().decode(f[4]);
            boolean ours = Verify.isFromCallagent(f[0], f[1], f[2], f[3], body, Long.parseLong(f[5]));
            System.out.println(ours ? "ours" : "not ours");
        }
    }
}
