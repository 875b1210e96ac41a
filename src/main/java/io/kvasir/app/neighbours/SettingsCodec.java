package io.kvasir.app.neighbours;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.gateway.admin.ConfigHandler.Setting;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import java.util.List;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A node's settings as they cross between nodes: those that are not each node's own, by path, compressed. Of a secret
 * there is a keyed digest, by which two can be told apart and nothing else.
 */
final class SettingsCodec {
  /** A message of remoting takes 256 KiB. */
  private static final int MAX_BYTES = 160 << 10;

  private static final int MAX_READ = 32 << 20;

  /** Addresses, ports, names and files of a node. */
  private static final Pattern OWN =
      Pattern.compile(
          "kvasir\\.(gateway|management|cluster|peer)\\.(.*[.-])?"
              + "(host|hostname|address|port|name|zone|certificate|key)");

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SECRET = "secret ";
  private static final String DIGEST = "HmacSHA256";

  private SettingsCodec() {}

  /**
   * Writes settings.
   *
   * @param pepper for the digests of secrets
   * @return empty when they are too many for a message
   */
  static byte[] write(List<Setting> settings, byte[] pepper) {
    SequencedMap<String, String> values = new TreeMap<>();
    for (Setting setting : settings) {
      if (!OWN.matcher(setting.path()).matches()) {
        values.put(setting.path(), value(setting, pepper));
      }
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = new GZIPOutputStream(bytes)) {
      out.write(JSON.writeValueAsBytes(values));
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.size() > MAX_BYTES ? new byte[0] : bytes.toByteArray();
  }

  /** Reads settings, as JSON by path; of secrets what {@link #isSecret} tells from a value. */
  static SequencedMap<String, String> read(byte[] written) throws IOException {
    try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(written))) {
      return JSON.readValue(in.readNBytes(MAX_READ), new TypeReference<TreeMap<String, String>>() {});
    }
  }

  /** Whether a value that was read stands for a secret. */
  static boolean isSecret(String value) {
    return value.startsWith(SECRET);
  }

  private static String value(Setting setting, byte[] pepper) {
    String shown = setting.shown().toString();
    String whole = setting.value().toString();
    return shown.equals(whole) ? shown : SECRET + digest(whole, pepper);
  }

  private static String digest(String text, byte[] pepper) {
    try {
      Mac mac = Mac.getInstance(DIGEST);
      mac.init(new SecretKeySpec(pepper, DIGEST));
      return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)), 0, 16);
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
