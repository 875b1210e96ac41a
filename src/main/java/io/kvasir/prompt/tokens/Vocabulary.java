package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The tokens of a byte-level vocabulary as bytes, by id, and their ids, by bytes. Immutable once filled. */
final class Vocabulary {
  private static final int BYTES = 256;
  private static final int[] BYTE_OF_CHAR = byteOfChar();

  /** By id; null where there is none. */
  private byte[] @Nullable [] tokens;

  /** Open-addressed: id + 1 of a token that merges can make, 0 for an empty place. */
  private final int[] places;

  private final int[] idOfByte = new int[BYTES];

  private Vocabulary(int size) {
    tokens = new byte[size][];
    places = new int[Integer.highestOneBit(Math.max(size, 8)) << 2];
    Arrays.fill(idOfByte, -1);
  }

  /** The vocabulary of a BPE model in a tokenizer.json, null if some byte has no token. */
  static @Nullable Vocabulary of(JsonNode vocab) {
    Vocabulary vocabulary = new Vocabulary(vocab.size());
    for (Map.Entry<String, JsonNode> token : vocab.properties()) {
      vocabulary.add(token.getKey(), token.getValue().intValue());
    }
    return Arrays.stream(vocabulary.idOfByte).anyMatch(id -> id < 0) ? null : vocabulary;
  }

  private void add(String written, int id) {
    if (id >= tokens.length) {
      tokens = Arrays.copyOf(tokens, Math.max(id + 1, tokens.length + tokens.length / 2));
    }
    byte[] bytes = bytes(written);
    if (bytes == null) {
      // A token that stands for no bytes: only an added token of the same text has its id.
      tokens[id] = written.getBytes(StandardCharsets.UTF_8);
      return;
    }
    tokens[id] = bytes;
    if (bytes.length == 1) {
      idOfByte[bytes[0] & 0xff] = id;
    }
    int place = (int) WordCache.hash(bytes, 0, bytes.length) & (places.length - 1);
    while (places[place] != 0) {
      place = (place + 1) & (places.length - 1);
    }
    places[place] = id + 1;
  }

  /** An added token beside the model's. */
  void addExtra(String content, int id) {
    if (id >= tokens.length) {
      tokens = Arrays.copyOf(tokens, id + 1);
    }
    tokens[id] = content.getBytes(StandardCharsets.UTF_8);
  }

  int idOfByte(byte b) {
    return idOfByte[b & 0xff];
  }

  /** The bytes of token {@code id}, null if there is no such token. */
  byte @Nullable [] bytes(int id) {
    return id >= 0 && id < tokens.length ? tokens[id] : null;
  }

  /** The token that is {@code text[from, to)}, -1 if none is. */
  int find(byte[] text, int from, int to) {
    int place = (int) WordCache.hash(text, from, to) & (places.length - 1);
    while (places[place] != 0) {
      byte[] stored = tokens[places[place] - 1];
      if (stored != null && Arrays.equals(stored, 0, stored.length, text, from, to)) {
        return places[place] - 1;
      }
      place = (place + 1) & (places.length - 1);
    }
    return -1;
  }

  /** The bytes that {@code written} stands for in GPT-2's way of writing each byte as a printable character. */
  static byte @Nullable [] bytes(String written) {
    byte[] bytes = new byte[written.length()];
    for (int i = 0; i < bytes.length; i++) {
      char c = written.charAt(i);
      if (c >= BYTE_OF_CHAR.length || BYTE_OF_CHAR[c] < 0) {
        return null;
      }
      bytes[i] = (byte) BYTE_OF_CHAR[c];
    }
    return bytes;
  }

  /** Printable Latin-1 stands for itself, the other bytes for the characters from 256 on. */
  private static int[] byteOfChar() {
    int[] bytes = new int[2 * BYTES];
    Arrays.fill(bytes, -1);
    int next = BYTES;
    for (int b = 0; b < BYTES; b++) {
      boolean printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xff && b != 0xad);
      bytes[printable ? b : next++] = b;
    }
    return bytes;
  }
}
