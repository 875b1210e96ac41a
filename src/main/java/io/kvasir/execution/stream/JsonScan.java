package io.kvasir.execution.stream;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads the few fields of an answer that the router needs, byte by byte as they pass, and skips the
 * rest: no tree, no buffer of the document, no allocation, whatever its size and wherever it is cut.
 *
 * <p>It follows one path at a time: the root object, in it {@code response} (a Responses event) or
 * {@code message} (an Anthropic one), in either {@code usage}, and in that the details of the
 * prompt's tokens. Every other container is skipped by counting brackets, strings by looking for the
 * closing quote; so a {@code "usage"} inside a text, a tool's arguments or a schema is never taken for
 * the engine's. It is no validator: what is not JSON is skipped until {@link #reset}.
 *
 * <p>Token counts outlive {@link #reset}, later ones replacing earlier ones: a stream reports them
 * in pieces, and some engines in every event. Keys written with escapes are not recognised.
 */
final class JsonScan {
  /** A count the answer has not named. */
  static final long NONE = -1;

  private static final int MAX_KEY = 32;
  private static final int MAX_TEXT = 256;

  private static final byte[] ERROR = ascii("error");
  private static final byte[] TYPE = ascii("type");
  private static final byte[] ID = ascii("id");
  private static final byte[] CHOICES = ascii("choices");
  private static final byte[] USAGE = ascii("usage");
  private static final byte[] RESPONSE = ascii("response");
  private static final byte[] MESSAGE = ascii("message");
  private static final byte[] PROMPT = ascii("prompt_tokens");
  private static final byte[] INPUT = ascii("input_tokens");
  private static final byte[] COMPLETION = ascii("completion_tokens");
  private static final byte[] OUTPUT = ascii("output_tokens");
  private static final byte[] PROMPT_DETAILS = ascii("prompt_tokens_details");
  private static final byte[] INPUT_DETAILS = ascii("input_tokens_details");
  private static final byte[] CACHED = ascii("cached_tokens");
  private static final byte[] CACHE_READ = ascii("cache_read_input_tokens");
  private static final byte[] CACHE_CREATION = ascii("cache_creation_input_tokens");

  private enum State {
    /** Before the root value. */
    START,
    /** In a followed object, before a key or its end. */
    KEY,
    IN_KEY,
    COLON,
    VALUE,
    IN_TEXT,
    TEXT_ESCAPE,
    IN_SCALAR,
    /** In a container that is not followed. */
    SKIP,
    SKIP_STRING,
    SKIP_ESCAPE,
    AFTER,
    /** The root object has ended. */
    DONE,
    /** Not JSON, or nothing that interests. */
    LOST
  }

  /** The objects that are followed. */
  private enum Scope {
    ROOT,
    NESTED,
    USAGE,
    DETAILS
  }

  /** What the value of the current key is to us. */
  private enum ValueKind {
    NOTHING,
    ERROR,
    TYPE,
    ID,
    CHOICES,
    NESTED,
    USAGE,
    DETAILS,
    PROMPT,
    OUTPUT,
    CACHED,
    CACHE_READ,
    CACHE_CREATION
  }

  private final Scope[] scopes = new Scope[Scope.values().length];
  private final byte[] key = new byte[MAX_KEY];
  private final byte[] type = new byte[MAX_TEXT];
  private final byte[] id = new byte[MAX_TEXT];

  private State state = State.START;
  private ValueKind target = ValueKind.NOTHING;
  private int depth = -1;
  private int skipped;
  private int keyLength;
  private long number;
  private boolean whole;
  private int typeLength;
  private int idLength;
  private boolean idTaken;
  private boolean error;
  private boolean noChoices;
  private boolean hasUsage;

  private long prompt = NONE;
  private long output = NONE;
  private long cached = NONE;
  private long cacheRead = NONE;
  private long cacheCreation = NONE;

  /** Makes ready for the next document of the same answer. */
  void reset() {
    state = State.START;
    target = ValueKind.NOTHING;
    depth = -1;
    typeLength = 0;
    error = false;
    noChoices = false;
    hasUsage = false;
  }

  /** Takes the next bytes of the document. */
  void accept(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to) {
      at = switch (state) {
        case SKIP -> skip(bytes, at, to);
        case SKIP_STRING -> skipString(bytes, at, to);
        case DONE, LOST -> to;
        default -> {
          step(bytes[at]);
          yield at + 1;
        }
      };
    }
  }

  /** Whether the root object is complete. */
  boolean complete() {
    return state == State.DONE;
  }

  /** Whether this document carries an error: a member {@code error} that is an object or a text. */
  boolean error() {
    return error;
  }

  /** Whether this document has a {@code usage} object and an empty {@code choices}. */
  boolean usageOnly() {
    return hasUsage && noChoices;
  }

  /** Whether this document's {@code type} is {@code expected}. */
  boolean typeIs(byte[] expected) {
    return matches(type, typeLength, expected);
  }

  /** Whether this document has a {@code type}. */
  boolean hasType() {
    return typeLength > 0;
  }

  /** The first {@code id} of the answer or its {@code response}; empty when it has not been seen. */
  String id() {
    return idTaken ? new String(id, 0, idLength, StandardCharsets.UTF_8) : "";
  }

  /**
   * Tokens of the prompt. Anthropic's {@code input_tokens} leaves out what was read from or written to
   * the cache, so those are added.
   */
  long promptTokens() {
    return prompt == NONE ? NONE : prompt + Math.max(cacheRead, 0) + Math.max(cacheCreation, 0);
  }

  /** Tokens of the prompt found in the cache. */
  long cachedTokens() {
    return cached != NONE ? cached : cacheRead;
  }

  /** Tokens generated. */
  long outputTokens() {
    return output;
  }

  private void step(byte c) {
    switch (state) {
      case START -> {
        if (c == '{') {
          enter(Scope.ROOT);
        } else if (!blank(c)) {
          state = State.LOST;
        }
      }
      case KEY -> {
        if (c == '"') {
          keyLength = 0;
          state = State.IN_KEY;
        } else if (c == '}') {
          leave();
        } else if (c != ',' && !blank(c)) {
          state = State.LOST;
        }
      }
      case IN_KEY -> {
        if (c == '"') {
          target = target();
          state = State.COLON;
        } else if (c == '\\') {
          keyLength = MAX_KEY + 1;
          target = ValueKind.NOTHING;
          state = State.SKIP_ESCAPE;
          skipped = -1;
        } else if (keyLength < MAX_KEY) {
          key[keyLength++] = c;
        } else {
          keyLength = MAX_KEY + 1;
        }
      }
      case COLON -> {
        if (c == ':') {
          state = State.VALUE;
        } else if (!blank(c)) {
          state = State.LOST;
        }
      }
      case VALUE -> value(c);
      case IN_TEXT -> {
        if (c == '"') {
          idTaken |= target == ValueKind.ID;
          state = State.AFTER;
        } else if (c == '\\') {
          state = State.TEXT_ESCAPE;
        } else {
          take(c);
        }
      }
      case TEXT_ESCAPE -> {
        take(c);
        state = State.IN_TEXT;
      }
      case IN_SCALAR -> {
        if (c == ',' || c == '}' || blank(c)) {
          takeNumber();
          after(c);
        } else {
          digit(c);
        }
      }
      case SKIP_ESCAPE -> state = State.SKIP_STRING;
      case AFTER -> after(c);
      case SKIP, SKIP_STRING, DONE, LOST -> throw new IllegalStateException(state.name());
    }
  }

  private void value(byte c) {
    if (blank(c)) {
      return;
    }
    switch (c) {
      case '{' -> {
        switch (target) {
          case NESTED -> enter(Scope.NESTED);
          case USAGE -> {
            hasUsage = true;
            enter(Scope.USAGE);
          }
          case DETAILS -> enter(Scope.DETAILS);
          default -> skipContainer();
        }
      }
      case '[' -> {
        noChoices |= target == ValueKind.CHOICES;
        skipContainer();
      }
      case '"' -> {
        error |= target == ValueKind.ERROR;
        switch (target) {
          case TYPE -> {
            typeLength = 0;
            state = State.IN_TEXT;
          }
          case ID -> {
            idLength = 0;
            state = State.IN_TEXT;
          }
          default -> {
            skipped = 0;
            state = State.SKIP_STRING;
          }
        }
      }
      default -> {
        number = 0;
        whole = true;
        state = State.IN_SCALAR;
        digit(c);
      }
    }
  }

  private void skipContainer() {
    error |= target == ValueKind.ERROR;
    skipped = 1;
    state = State.SKIP;
  }

  private int skip(byte[] bytes, int from, int to) {
    for (int at = from; at < to; at++) {
      byte c = bytes[at];
      switch (c) {
        case '"' -> {
          noChoices &= target != ValueKind.CHOICES;
          state = State.SKIP_STRING;
          return at + 1;
        }
        case '{', '[' -> {
          noChoices &= target != ValueKind.CHOICES;
          skipped++;
        }
        case '}', ']' -> {
          if (--skipped == 0) {
            state = State.AFTER;
            return at + 1;
          }
        }
        default -> {
          // A number, a literal, a comma or white space: nothing to count.
        }
      }
    }
    return to;
  }

  /** Skips a string: {@code skipped} is −1 in a key, 0 in a value of ours, the depth in a skipped container. */
  private int skipString(byte[] bytes, int from, int to) {
    for (int at = from; at < to; at++) {
      byte c = bytes[at];
      if (c == '"') {
        state = skipped < 0 ? State.COLON : skipped == 0 ? State.AFTER : State.SKIP;
        return at + 1;
      }
      if (c == '\\') {
        state = State.SKIP_ESCAPE;
        return at + 1;
      }
    }
    return to;
  }

  private void after(byte c) {
    if (c == ',') {
      state = State.KEY;
    } else if (c == '}') {
      leave();
    } else if (blank(c)) {
      state = State.AFTER;
    } else {
      state = State.LOST;
    }
  }

  private void enter(Scope place) {
    scopes[++depth] = place;
    state = State.KEY;
  }

  private void leave() {
    state = --depth < 0 ? State.DONE : State.AFTER;
  }

  private void take(byte c) {
    if (target == ValueKind.TYPE && typeLength < MAX_TEXT) {
      type[typeLength++] = c;
    } else if (target == ValueKind.ID && idLength < MAX_TEXT) {
      id[idLength++] = c;
    }
  }

  private void digit(byte c) {
    whole &= c >= '0' && c <= '9' && number < Integer.MAX_VALUE;
    number = number * 10 + (c - '0');
  }

  private void takeNumber() {
    if (!whole) {
      return;
    }
    switch (target) {
      case PROMPT -> prompt = number;
      case OUTPUT -> output = number;
      case CACHED -> cached = number;
      case CACHE_READ -> cacheRead = number;
      case CACHE_CREATION -> cacheCreation = number;
      default -> {
        // A number that is not needed.
      }
    }
  }

  private ValueKind target() {
    return switch (scopes[depth]) {
      case ROOT -> keyIs(ERROR) ? ValueKind.ERROR
          : keyIs(TYPE) ? ValueKind.TYPE
          : keyIs(ID) && !idTaken ? ValueKind.ID
          : keyIs(CHOICES) ? ValueKind.CHOICES
          : keyIs(USAGE) ? ValueKind.USAGE
          : keyIs(RESPONSE) || keyIs(MESSAGE) ? ValueKind.NESTED
          : ValueKind.NOTHING;
      case NESTED -> keyIs(ERROR) ? ValueKind.ERROR
          : keyIs(ID) && !idTaken ? ValueKind.ID
          : keyIs(USAGE) ? ValueKind.USAGE
          : ValueKind.NOTHING;
      case USAGE -> keyIs(PROMPT) || keyIs(INPUT) ? ValueKind.PROMPT
          : keyIs(COMPLETION) || keyIs(OUTPUT) ? ValueKind.OUTPUT
          : keyIs(PROMPT_DETAILS) || keyIs(INPUT_DETAILS) ? ValueKind.DETAILS
          : keyIs(CACHE_READ) ? ValueKind.CACHE_READ
          : keyIs(CACHE_CREATION) ? ValueKind.CACHE_CREATION
          : ValueKind.NOTHING;
      case DETAILS -> keyIs(CACHED) ? ValueKind.CACHED : ValueKind.NOTHING;
    };
  }

  private boolean keyIs(byte[] name) {
    return matches(key, keyLength, name);
  }

  private static boolean matches(byte[] text, int length, byte[] name) {
    return length == name.length && Arrays.equals(text, 0, length, name, 0, length);
  }

  private static boolean blank(byte c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
