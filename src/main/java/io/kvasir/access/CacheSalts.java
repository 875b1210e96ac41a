package io.kvasir.access;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The cache salts of callers that share cached blocks with some others only. Engines mix a prompt's {@code cache_salt}
 * into its first block's hash, hence into those of the whole chain; nobody can guess a salt without the secret.
 * Thread-safe.
 */
public final class CacheSalts {
  private static final String ALGORITHM = "HmacSHA256";

  private final SecretKeySpec secret;

  /**
   * Salts of a secret, which all nodes have to share: another one empties every isolated caller's cache.
   *
   * @param secret 16 bytes or more
   */
  public CacheSalts(byte[] secret) {
    this.secret = new SecretKeySpec(secret, ALGORITHM);
  }

  /**
   * The salt of a group's prompts: 43 characters of base64url.
   *
   * @param group the {@linkplain Caller#cacheGroup caller's group}
   * @param own the salt that the client sets to divide its own prompts, null without one; it is never used alone
   */
  public String salt(String group, @Nullable String own) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(secret);
      mac.update(group.getBytes(StandardCharsets.UTF_8));
      if (own != null) {
        // No group's name has a zero in it, so no other pair gives the same bytes.
        mac.update((byte) 0);
        mac.update(own.getBytes(StandardCharsets.UTF_8));
      }
      return Base64.getUrlEncoder().withoutPadding().encodeToString(mac.doFinal());
    } catch (GeneralSecurityException impossible) {
      throw new AssertionError("every Java has " + ALGORITHM, impossible);
    }
  }
}
