package io.kvasir.routing;

/** Hash functions for names and keys, the same on every node and in every process. */
public final class Hashing {
  private Hashing() {}

  /** The FNV-1a hash of a text's characters. */
  public static long of(String text) {
    long hash = 0xCBF29CE484222325L;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * 0x100000001B3L;
    }
    return hash;
  }

  /** A well-distributed hash of a value that may have a pattern: Stafford's mix 13. */
  public static long mix(long hash) {
    long z = (hash ^ (hash >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
