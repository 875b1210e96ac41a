package io.kvasir.answers;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * What a request is known by: the SHA-256 of all of it. Two requests are taken for the same when these 256 bits are the
 * same, and the request itself, which may be long, is kept nowhere. Immutable.
 */
public final class AnswerKey {
  private final String tenant;
  private final String model;
  private final byte[] digest;

  /**
   * A key.
   *
   * @param tenant by which it can be flushed
   * @param model by which it can be flushed
   * @param digest of the request, tenant and model included; not to be changed
   */
  AnswerKey(String tenant, String model, byte[] digest) {
    this.tenant = tenant;
    this.model = model;
    this.digest = digest;
  }

  String tenant() {
    return tenant;
  }

  String model() {
    return model;
  }

  /** SHA-256 of the request; not to be changed. */
  byte[] digest() {
    return digest;
  }

  /** The digest in hexadecimal. */
  String hash() {
    return HexFormat.of().formatHex(digest);
  }

  /** Whether a flush with these limits means it; null is no limit. */
  boolean matches(@Nullable String ofTenant, @Nullable String ofModel) {
    return (ofTenant == null || ofTenant.equals(tenant)) && (ofModel == null || ofModel.equals(model));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AnswerKey key && Arrays.equals(digest, key.digest);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(digest);
  }

  @Override
  public String toString() {
    return hash();
  }

  /** A name as a part of a key that anything may stand in: the first 16 digits of its SHA-256. */
  static String shortened(String name) {
    return HexFormat.of().formatHex(RequestDigest.sha256().digest(name.getBytes(StandardCharsets.UTF_8)), 0, 8);
  }
}
