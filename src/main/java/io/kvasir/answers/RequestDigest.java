package io.kvasir.answers;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The SHA-256 of texts, character by character as UTF-16 has them, however long they are. Not thread-safe. */
final class RequestDigest {
  private static final int BUFFER_BYTES = 4096;

  private final MessageDigest digest = sha256();
  private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }

  /** Adds a text led by its length, so that no text can pose as another and a part of the next. */
  void part(String text) {
    reserve(Integer.BYTES);
    buffer.putInt(text.length());
    characters(text);
  }

  /** Adds a text's characters. */
  void characters(CharSequence text) {
    for (int i = 0; i < text.length(); i++) {
      reserve(Character.BYTES);
      buffer.putChar(text.charAt(i));
    }
  }

  /** What has been added, in 32 bytes. Once, and last. */
  byte[] finish() {
    digest.update(buffer.flip());
    return digest.digest();
  }

  private void reserve(int bytes) {
    if (buffer.remaining() < bytes) {
      digest.update(buffer.flip());
      buffer.clear();
    }
  }
}
