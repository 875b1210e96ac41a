package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The added tokens of a tokenizer (special ones and others), which split a text before all other steps. The rules are
 * those of Hugging Face's {@code AddedVocabulary}: the leftmost match wins, of several there the longest; a token may
 * include the white space before or after it, or match only as a whole word.
 *
 * <p>One instance has either the tokens that are matched in the original text, or those ({@code normalized}) that are
 * matched in the normalised text. Immutable.
 */
final class AddedTokens {
  private record AddedToken(int id, byte[] content, boolean singleWord, boolean leftStrip, boolean rightStrip) {
    boolean wordLikeStart() {
      return id != NONE && (content[0] < 0 || Utf8.isWord(content[0]));
    }
  }

  /** The id of what splits a text and is no token. */
  static final int NONE = -1;

  /** A trie: node 0 is the root; of a node, the bytes that go on, where they go, and the token that ends in it. */
  private byte[][] labels = new byte[64][];
  private int[][] children = new int[64][];
  private int[] ends = new int[64];
  private int nodes = 1;

  private final boolean[] first = new boolean[256];
  private final ByteScan firstBytes = new ByteScan();
  private final List<AddedToken> tokens = new ArrayList<>();

  private AddedTokens() {}

  /** Those tokens of a tokenizer.json's {@code added_tokens} that are {@code normalized} or not. */
  static AddedTokens of(JsonNode added, boolean normalized) {
    return of(added, normalized, false);
  }

  /** The same; with {@code breaks} also {@link Tokenizer#BREAK}, whose id is {@link #NONE}. */
  static AddedTokens of(JsonNode added, boolean normalized, boolean breaks) {
    AddedTokens all = new AddedTokens();
    if (breaks) {
      all.add(new AddedToken(NONE, Tokenizer.BREAK.getBytes(StandardCharsets.UTF_8), false, false, false));
    }
    for (JsonNode token : added) {
      byte[] content = token.path("content").asText().getBytes(StandardCharsets.UTF_8);
      if (content.length > 0 && token.path("normalized").asBoolean() == normalized) {
        all.add(new AddedToken(token.path("id").asInt(), content, token.path("single_word").asBoolean(),
            token.path("lstrip").asBoolean(), token.path("rstrip").asBoolean()));
      }
    }
    return all;
  }

  private void add(AddedToken token) {
    int node = 0;
    for (byte b : token.content) {
      int next = child(node, b);
      node = next >= 0 ? next : grow(node, b);
    }
    first[token.content[0] & 0xff] = true;
    firstBytes.add(token.content[0]);
    tokens.add(token);
    ends[node] = tokens.size();
  }

  private int grow(int node, byte b) {
    if (nodes == ends.length) {
      labels = Arrays.copyOf(labels, 2 * nodes);
      children = Arrays.copyOf(children, 2 * nodes);
      ends = Arrays.copyOf(ends, 2 * nodes);
    }
    byte[] from = labels[node] == null ? new byte[0] : labels[node];
    int[] to = children[node] == null ? new int[0] : children[node];
    labels[node] = Arrays.copyOf(from, from.length + 1);
    children[node] = Arrays.copyOf(to, to.length + 1);
    labels[node][from.length] = b;
    children[node][to.length] = nodes;
    return nodes++;
  }

  private int child(int node, byte b) {
    byte[] on = labels[node];
    if (on != null) {
      for (int i = 0; i < on.length; i++) {
        if (on[i] == b) {
          return children[node][i];
        }
      }
    }
    return -1;
  }

  boolean isEmpty() {
    return tokens.isEmpty();
  }

  /** Whether a token contains a line break, or may include white space before a letter. */
  boolean mayCrossLines() {
    return tokens.stream().anyMatch(t -> new String(t.content, StandardCharsets.ISO_8859_1).contains("\n")
        || (t.leftStrip && t.wordLikeStart()));
  }

  private int longestAt(byte[] text, int at, int to) {
    int node = 0;
    int found = 0;
    for (int i = at; i < to; i++) {
      node = child(node, text[i]);
      if (node < 0) {
        break;
      }
      if (ends[node] != 0) {
        found = ends[node];
      }
    }
    return found - 1;
  }

  /**
   * The first place after {@code from} where the text may be cut: before an added token, or, once {@code lineAfter}
   * bytes have passed, between a line break and an ASCII letter. The text's length if there is none.
   *
   * <p>A token that includes white space or depends on its neighbours is no such place, and neither is one that begins
   * like a word: it would change the tokens of the piece before it.
   */
  int cut(byte[] text, int from, int lineAfter) {
    int lines = lineAfter >= text.length - from ? text.length : from + lineAfter - 1;
    int at = from;
    while (true) {
      if (at < lines) {
        at = firstBytes.next(text, at, lines);
      }
      if (at >= lines) {
        at = firstBytes.nextOrLineBreak(text, at);
      }
      if (at == text.length) {
        return at;
      }
      byte b = text[at];
      if (first[b & 0xff]) {
        int found = longestAt(text, at, text.length);
        if (found >= 0) {
          AddedToken token = tokens.get(found);
          if (at - from >= Tokenizer.SHORT_PIECE && !token.leftStrip && !token.singleWord && !token.wordLikeStart()) {
            return at;
          }
          at += token.content.length;
          continue;
        }
      }
      at++;
      if (b == '\n' && at - from >= lineAfter && at < text.length && Utf8.isAsciiLetter(text[at])) {
        return at;
      }
    }
  }

  /** The added tokens of {@code text[from, to)}, one after the other. */
  Cursor in(byte[] text, int from, int to) {
    return new Cursor(text, from, to);
  }

  /** A cursor over the tokens found in a text. */
  final class Cursor {
    private final byte[] text;
    private final int from;
    private final int to;
    private int at;
    private int floor;
    private int start;
    private int stop;
    private int id;

    private Cursor(byte[] text, int from, int to) {
      this.text = text;
      this.from = from;
      this.to = to;
      this.at = from;
      this.floor = from;
    }

    /** Moves to the next token; false when there is none. */
    boolean next() {
      for (at = firstBytes.next(text, at, to); at < to; at = firstBytes.next(text, at, to)) {
        int found = longestAt(text, at, to);
        if (found < 0) {
          at++;
          continue;
        }
        AddedToken token = tokens.get(found);
        start = at;
        stop = at + token.content.length;
        id = token.id;
        at = stop;
        if (token.singleWord && (Utf8.wordBefore(text, start, from) || Utf8.wordAt(text, stop, to))) {
          continue;
        }
        if (token.leftStrip) {
          start = Math.max(Utf8.spaceBefore(text, start, from), floor);
        }
        if (token.rightStrip) {
          stop = Utf8.spaceAfter(text, stop, to);
        }
        floor = stop;
        return true;
      }
      return false;
    }

    /** The start of the token, with the white space it includes. */
    int start() {
      return start;
    }

    /** The end of the token, with the white space it includes. */
    int stop() {
      return stop;
    }

    /** The token's id, or {@link #NONE}. */
    int id() {
      return id;
    }
  }
}
