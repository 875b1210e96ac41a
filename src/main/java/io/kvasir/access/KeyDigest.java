package io.kvasir.access;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The SHA-256 digest of a credential, by which keys are looked up: the credential itself is never kept. Two digests are
 * compared in the same time wherever they differ. Immutable.
 */
public final class KeyDigest {
  private static final Pattern HEX = Pattern.compile("[0-9a-f]{64}");
  private static final int SHORT_HEX = 8;

  /** Never updated: cloning it is cheaper than looking the algorithm up for each request. */
  private static final MessageDigest SHA_256 = sha256();

  private final long first;
  private final long second;
  private final long third;
  private final long fourth;

  private KeyDigest(byte[] digest) {
    this.first = bigEndian(digest, 0);
    this.second = bigEndian(digest, 8);
    this.third = bigEndian(digest, 16);
    this.fourth = bigEndian(digest, 24);
  }

  /** The digest of a credential's UTF-8 bytes. */
  public static KeyDigest of(String credential) {
    try {
      MessageDigest digest = (MessageDigest) SHA_256.clone();
      return new KeyDigest(digest.digest(credential.getBytes(StandardCharsets.UTF_8)));
    } catch (CloneNotSupportedException impossible) {
      throw new AssertionError("Java's own SHA-256 can be cloned", impossible);
    }
  }

  /**
   * The digest that a text spells.
   *
   * @throws IllegalArgumentException when it is not {@linkplain #isHex 64 hexadecimal digits}
   */
  public static KeyDigest ofHex(String text) {
    if (!isHex(text)) {
      throw new IllegalArgumentException("a SHA-256 digest has 64 lower-case hexadecimal digits");
    }
    return new KeyDigest(HexFormat.of().parseHex(text));
  }

  /** Whether a text spells a digest: 64 lower-case hexadecimal digits. */
  public static boolean isHex(String text) {
    return HEX.matcher(text).matches();
  }

  /** All 64 hexadecimal digits. For storage only: nothing shows or logs them. */
  public String hex() {
    HexFormat format = HexFormat.of();
    return format.toHexDigits(first) + format.toHexDigits(second)
        + format.toHexDigits(third) + format.toHexDigits(fourth);
  }

  /** The first 8 hexadecimal digits, which tell people the keys apart. */
  public String shortHex() {
    return HexFormat.of().toHexDigits(first).substring(0, SHORT_HEX);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof KeyDigest that
        && ((first ^ that.first) | (second ^ that.second) | (third ^ that.third) | (fourth ^ that.fourth)) == 0;
  }

  @Override
  public int hashCode() {
    return (int) first;
  }

  /** The first 8 hexadecimal digits. */
  @Override
  public String toString() {
    return shortHex();
  }

  private static long bigEndian(byte[] bytes, int from) {
    long value = 0;
    for (int i = from; i < from + Long.BYTES; i++) {
      value = (value << Byte.SIZE) | (bytes[i] & 0xFF);
    }
    return value;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }
}
