package io.kvasir.answers;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * What a request is known by: all of it, written down so that equal requests are equal bytes. Its SHA-256 finds
 * candidates; equality is that of the bytes, so that not even a collision hands out another's answer. Immutable.
 */
public final class AnswerKey {
  private final String tenant;
  private final String model;
  private final byte[] request;
  private final byte[] hash;

  /**
   * A key.
   *
   * @param tenant by which it can be flushed
   * @param model by which it can be flushed
   * @param request the canonical request, tenant and model included; not to be changed
   */
  AnswerKey(String tenant, String model, byte[] request) {
    this.tenant = tenant;
    this.model = model;
    this.request = request;
    this.hash = sha256(request);
  }

  String tenant() {
    return tenant;
  }

  String model() {
    return model;
  }

  byte[] request() {
    return request;
  }

  /** SHA-256 of the canonical request, in hexadecimal. */
  String hash() {
    return HexFormat.of().formatHex(hash);
  }

  /** Whether a flush with these limits means it; null is no limit. */
  boolean matches(@Nullable String ofTenant, @Nullable String ofModel) {
    return (ofTenant == null || ofTenant.equals(tenant)) && (ofModel == null || ofModel.equals(model));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AnswerKey key && Arrays.equals(hash, key.hash) && Arrays.equals(request, key.request);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(hash);
  }

  @Override
  public String toString() {
    return hash();
  }

  /** A name as a part of a key that anything may stand in: the first 16 digits of its SHA-256. */
  static String shortened(String name) {
    return HexFormat.of().formatHex(sha256(name.getBytes(StandardCharsets.UTF_8)), 0, 8);
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }
}
