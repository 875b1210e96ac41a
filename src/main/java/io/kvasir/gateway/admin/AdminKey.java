package io.kvasir.gateway.admin;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * An administrator's key, of which the digest is kept: one line of text, {@code KEY [ID [ROLE]]}, where KEY is the key
 * itself or {@code sha256:} and its digest in hexadecimal digits.
 */
public final class AdminKey {
  /** What a line has to be, for faults. */
  public static final String FORM =
      "has to be KEY [ID [admin|viewer]]: a key of 16 to 256 letters, digits and other visible ASCII characters, or"
          + " sha256: and its digest in 64 hexadecimal digits";

  private static final Pattern KEY = Pattern.compile("[!-~]{16,256}");
  private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");
  private static final String DIGEST = "sha256:";
  private static final int ID_DIGITS = 8;

  private final byte[] sha256;
  private final String id;
  private final AdminRole role;

  private AdminKey(byte[] sha256, String id, AdminRole role) {
    this.sha256 = sha256;
    this.id = id;
    this.role = role;
  }

  /**
   * Reads a line.
   *
   * @throws IllegalArgumentException when it is none; without any part of it in the message
   */
  public static AdminKey parse(String line) {
    String[] words = line.strip().split("\\s+", -1);
    if (words.length > 3 || (words.length > 1 && !ID.matcher(words[1]).matches())) {
      throw new IllegalArgumentException(FORM);
    }
    byte[] sha256 = words[0].startsWith(DIGEST) ? hex(words[0].substring(DIGEST.length())) : digestOf(words[0]);
    AdminRole role = Arrays.stream(AdminRole.values())
        .filter(each -> each.label().equals(words.length > 2 ? words[2] : AdminRole.ADMIN.label()))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(FORM));
    String id = words.length > 1 ? words[1] : "sha256-" + HexFormat.of().formatHex(sha256).substring(0, ID_DIGITS);
    return new AdminKey(sha256, id, role);
  }

  /** The name of its holder, for the audit log. */
  String id() {
    return id;
  }

  AdminRole role() {
    return role;
  }

  /** Whether it is the key with this digest. Takes the same time wherever they differ. */
  boolean matches(byte[] digest) {
    return MessageDigest.isEqual(sha256, digest);
  }

  /** The SHA-256 of a key. */
  static byte[] sha256(String key) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }

  private static byte[] digestOf(String key) {
    if (!KEY.matcher(key).matches()) {
      throw new IllegalArgumentException(FORM);
    }
    return sha256(key);
  }

  private static byte[] hex(String digits) {
    if (digits.length() != 64) {
      throw new IllegalArgumentException(FORM);
    }
    try {
      return HexFormat.of().parseHex(digits);
    } catch (IllegalArgumentException notHexadecimal) {
      throw new IllegalArgumentException(FORM, notHexadecimal);
    }
  }
}
