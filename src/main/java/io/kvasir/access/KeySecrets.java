package io.kvasir.access;

import java.security.SecureRandom;
import java.util.Base64;

/** The generation of keys' texts. Thread-safe. */
public final class KeySecrets {
  private static final String PREFIX = "kv-";
  private static final int BYTES = 32;
  private static final SecureRandom RANDOM = new SecureRandom();

  private KeySecrets() {}

  /** A new text: {@code kv-} and 256 random bits as 43 characters. Whoever asked for it has the only copy. */
  public static String generate() {
    byte[] bytes = new byte[BYTES];
    RANDOM.nextBytes(bytes);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }
}
