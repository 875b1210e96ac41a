package io.kvasir.execution.stream;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

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
 *
 * <p>The events of a stream begin alike: with the members before their {@code choices}. What a document has up to there
 * is kept, and a later document that begins with the same bytes is read on from there.
 *
 * <p>Where it is to note why the answer ended, it looks for that in an event's {@code delta}, too, and has a {@link
 * ChoiceScan} read the {@code choices}; so it does for whoever listens to them.
 */
final class JsonScan {
  /** A count the answer has not named. */
  static final long NONE = -1;

  private static final int MAX_KEY = 32;
  /** Bytes before the choices that are kept. */
  private static final int MAX_HEAD = 512;
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
  private static final byte[] STOP_REASON = ascii("stop_reason");
  private static final byte[] DELTA = ascii("delta");
  private static final byte[] STATUS = ascii("status");
  private static final byte[] INCOMPLETE = ascii("incomplete_details");
  private static final byte[] REASON = ascii("reason");

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
    /** In the choices, which are read by themselves. */
    CHOICES,
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
    DETAILS,
    /** An object that may say why the answer has ended. */
    ENDING
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
    CACHE_CREATION,
    ENDING,
    FINISH_REASON,
    STATUS
  }

  private final @Nullable FinishReasons finishReasons;
  private @Nullable ChoiceScan choices;
  private final Scope[] scopes = new Scope[Scope.values().length];
  private final byte[] key = new byte[MAX_KEY];
  private final byte[] type = new byte[MAX_TEXT];
  private final byte[] id = new byte[MAX_TEXT];

  /** The bytes of a document up to the bracket that opens its choices, if it has nothing for us before that. */
  private byte[] head = {};

  private int headLength;
  /** Where the current document begins in the bytes that are being read; -1 in later bytes of it, or it is not kept. */
  private int documentStart = -1;

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

  /** A scan of one answer; {@code finishReasons} notes why it ended, null for nobody. */
  JsonScan(@Nullable FinishReasons finishReasons) {
    this.finishReasons = finishReasons;
    this.choices = finishReasons == null ? null : new ChoiceScan(finishReasons);
  }

  /** A scan of one answer, whose choices {@code listener} is told of. */
  JsonScan(ChoiceListener listener) {
    this.finishReasons = null;
    this.choices = new ChoiceScan(listener);
  }

  /** Has {@code listener} told of the choices of all documents to come, too. */
  void listen(ChoiceListener listener) {
    choices = new ChoiceScan(finishReasons == null ? listener : finishReasons.and(listener));
  }

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
    documentStart = -1;
    if (state == State.START && depth < 0) {
      if (beginsAsBefore(bytes, from, to)) {
        at += headLength;
        scopes[0] = Scope.ROOT;
        depth = 0;
        target = ValueKind.CHOICES;
        beginChoices();
      } else if (idTaken) {
        documentStart = from;
      }
    }
    while (at < to) {
      at = switch (state) {
        case SKIP -> skip(bytes, at, to);
        case SKIP_STRING -> skipString(bytes, at, to);
        case IN_KEY -> key(bytes, at, to);
        case IN_TEXT -> text(bytes, at, to);
        case CHOICES -> choices(Objects.requireNonNull(choices), bytes, at, to);
        case TEXT_ESCAPE -> {
          take(bytes, at, at + 1);
          state = State.IN_TEXT;
          yield at + 1;
        }
        case DONE, LOST -> to;
        default -> {
          step(bytes[at]);
          at++;
          if (documentStart >= 0 && noChoices) {
            keepHead(bytes, at);
          }
          yield at;
        }
      };
    }
  }

  private boolean beginsAsBefore(byte[] bytes, int from, int to) {
    return headLength > 0
        && to - from >= headLength
        && Arrays.equals(bytes, from, from + headLength, head, 0, headLength);
  }

  /** Behind the bracket that opens the choices. */
  private void keepHead(byte[] bytes, int end) {
    int length = end - documentStart;
    if (length <= MAX_HEAD && depth == 0 && typeLength == 0 && !error && !hasUsage) {
      if (head.length == 0) {
        head = new byte[MAX_HEAD];
      }
      System.arraycopy(bytes, documentStart, head, 0, length);
      headLength = length;
    }
    documentStart = -1;
  }

  private void beginChoices() {
    noChoices = true;
    if (choices == null) {
      skipContainer();
    } else {
      choices.begin();
      state = State.CHOICES;
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

  /** Whether this document has a {@code usage} object. */
  boolean hasUsage() {
    return hasUsage;
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
      case COLON -> {
        if (c == ':') {
          state = State.VALUE;
        } else if (!blank(c)) {
          state = State.LOST;
        }
      }
      case VALUE -> value(c);
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
      case SKIP, SKIP_STRING, IN_KEY, IN_TEXT, TEXT_ESCAPE, CHOICES, DONE, LOST ->
          throw new IllegalStateException(state.name());
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
          case ENDING -> enter(Scope.ENDING);
          default -> skipContainer();
        }
      }
      case '[' -> {
        if (target == ValueKind.CHOICES) {
          beginChoices();
        } else {
          skipContainer();
        }
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
          case FINISH_REASON, STATUS -> {
            keyLength = 0;
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
          // A number, a literal or white space: nothing to count.
        }
      }
    }
    return to;
  }

  /** Skips a string: {@code skipped} is −1 in a key, 0 in a value of ours, the depth in a skipped container. */
  private int skipString(byte[] bytes, int from, int to) {
    int end = endOfText(bytes, from, to);
    if (end == to) {
      return to;
    }
    state = bytes[end] == '\\' ? State.SKIP_ESCAPE
        : skipped < 0 ? State.COLON
        : skipped == 0 ? State.AFTER
        : State.SKIP;
    return end + 1;
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

  /** Reads on in a key. */
  private int key(byte[] bytes, int from, int to) {
    int end = endOfText(bytes, from, to);
    takeKey(bytes, from, end);
    if (end == to) {
      return to;
    }
    if (bytes[end] == '"') {
      target = target();
      state = State.COLON;
    } else {
      keyLength = MAX_KEY + 1;
      target = ValueKind.NOTHING;
      state = State.SKIP_ESCAPE;
      skipped = -1;
    }
    return end + 1;
  }

  private void takeKey(byte[] bytes, int from, int end) {
    int length = end - from;
    if (keyLength + length <= MAX_KEY) {
      System.arraycopy(bytes, from, key, keyLength, length);
      keyLength += length;
    } else {
      keyLength = MAX_KEY + 1;
    }
  }

  private int choices(ChoiceScan scan, byte[] bytes, int from, int to) {
    int end = scan.accept(bytes, from, to);
    noChoices &= scan.empty();
    if (scan.over()) {
      state = State.AFTER;
    }
    return end;
  }

  private void noteFinish(boolean isReason) {
    if (finishReasons != null && keyLength <= MAX_KEY) {
      if (isReason) {
        finishReasons.finished(key, keyLength);
      } else if (target == ValueKind.STATUS) {
        finishReasons.status(key, keyLength);
      }
    }
  }

  /** Reads on in a text that is kept. */
  private int text(byte[] bytes, int from, int to) {
    int end = endOfText(bytes, from, to);
    take(bytes, from, end);
    if (end == to) {
      return to;
    }
    if (bytes[end] == '"') {
      idTaken |= target == ValueKind.ID;
      noteFinish(target == ValueKind.FINISH_REASON);
      state = State.AFTER;
    } else {
      state = State.TEXT_ESCAPE;
    }
    return end + 1;
  }

  private static int endOfText(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && bytes[at] != '"' && bytes[at] != '\\') {
      at++;
    }
    return at;
  }

  private void take(byte[] bytes, int from, int to) {
    if (target == ValueKind.TYPE) {
      int length = Math.min(to - from, MAX_TEXT - typeLength);
      System.arraycopy(bytes, from, type, typeLength, length);
      typeLength += length;
    } else if (target == ValueKind.ID) {
      int length = Math.min(to - from, MAX_TEXT - idLength);
      System.arraycopy(bytes, from, id, idLength, length);
      idLength += length;
    } else {
      takeKey(bytes, from, to);
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
          : keyIs(DELTA) ? ending(ValueKind.ENDING)
          : ofEnding();
      case NESTED -> keyIs(ERROR) ? ValueKind.ERROR
          : keyIs(ID) && !idTaken ? ValueKind.ID
          : keyIs(USAGE) ? ValueKind.USAGE
          : ofEnding();
      case ENDING -> keyIs(STOP_REASON) || keyIs(REASON) ? ValueKind.FINISH_REASON : ValueKind.NOTHING;
      case USAGE -> keyIs(PROMPT) || keyIs(INPUT) ? ValueKind.PROMPT
          : keyIs(COMPLETION) || keyIs(OUTPUT) ? ValueKind.OUTPUT
          : keyIs(PROMPT_DETAILS) || keyIs(INPUT_DETAILS) ? ValueKind.DETAILS
          : keyIs(CACHE_READ) ? ValueKind.CACHE_READ
          : keyIs(CACHE_CREATION) ? ValueKind.CACHE_CREATION
          : ValueKind.NOTHING;
      case DETAILS -> keyIs(CACHED) ? ValueKind.CACHED : ValueKind.NOTHING;
    };
  }

  /** What may say why the answer has ended, of a whole answer or a response within an event. */
  private ValueKind ofEnding() {
    return keyIs(STOP_REASON) ? ending(ValueKind.FINISH_REASON)
        : keyIs(STATUS) ? ending(ValueKind.STATUS)
        : keyIs(INCOMPLETE) ? ending(ValueKind.ENDING)
        : ValueKind.NOTHING;
  }

  private ValueKind ending(ValueKind kind) {
    return finishReasons == null ? ValueKind.NOTHING : kind;
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
