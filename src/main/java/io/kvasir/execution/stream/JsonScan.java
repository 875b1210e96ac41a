package io.kvasir.execution.stream;

import io.kvasir.execution.stream.AnswerMember.Scope;
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
  private static final int MAX_TEXT = 256;

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

  private final @Nullable FinishReasons finishReasons;
  private @Nullable ChoiceScan choices;
  private final TokenCounts tokens = new TokenCounts();
  private final Scope[] scopes = new Scope[Scope.values().length];
  private final ShortText key = new ShortText(AnswerMember.MAX_KEY);
  private final ShortText type = new ShortText(MAX_TEXT);
  private final ShortText id = new ShortText(MAX_TEXT);
  /** Up to the bracket that opens the choices, of documents that have nothing for us before that. */
  private final SharedHead head = new SharedHead();

  /** Where the current document begins in the bytes that are being read; -1 in later bytes of it, or it is not kept. */
  private int documentStart = -1;

  private State state = State.START;
  /** What the value of the current key is to us. */
  private AnswerMember target = AnswerMember.NOTHING;
  private int depth = -1;
  private int skipped;
  private long number;
  private boolean whole;
  private boolean idTaken;
  private boolean error;
  private boolean noChoices;
  private boolean hasUsage;

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
    target = AnswerMember.NOTHING;
    depth = -1;
    type.clear();
    error = false;
    noChoices = false;
    hasUsage = false;
  }

  /** Takes the next bytes of the document. */
  void accept(byte[] bytes, int from, int to) {
    int at = from;
    documentStart = -1;
    if (state == State.START && depth < 0) {
      if (head.begins(bytes, from, to)) {
        at += head.length();
        scopes[0] = Scope.ROOT;
        depth = 0;
        target = AnswerMember.CHOICES;
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

  /** Behind the bracket that opens the choices. */
  private void keepHead(byte[] bytes, int end) {
    if (depth == 0 && type.isEmpty() && !error && !hasUsage) {
      head.keep(bytes, documentStart, end);
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
    return type.is(expected);
  }

  /** Whether this document has a {@code type}. */
  boolean hasType() {
    return !type.isEmpty();
  }

  /** The first {@code id} of the answer or its {@code response}; empty when it has not been seen. */
  String id() {
    return idTaken && !id.isEmpty() ? id.toString() : "";
  }

  /** The tokens that all documents of the answer have reported. */
  TokenCounts tokens() {
    return tokens;
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
          key.clear();
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
        if (target == AnswerMember.CHOICES) {
          beginChoices();
        } else {
          skipContainer();
        }
      }
      case '"' -> {
        error |= target == AnswerMember.ERROR;
        switch (target) {
          case TYPE -> {
            type.clear();
            state = State.IN_TEXT;
          }
          case ID -> {
            id.clear();
            state = State.IN_TEXT;
          }
          case FINISH_REASON, STATUS -> {
            key.clear();
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
    error |= target == AnswerMember.ERROR;
    skipped = 1;
    state = State.SKIP;
  }

  private int skip(byte[] bytes, int from, int to) {
    for (int at = from; at < to; at++) {
      byte c = bytes[at];
      switch (c) {
        case '"' -> {
          noChoices &= target != AnswerMember.CHOICES;
          state = State.SKIP_STRING;
          return at + 1;
        }
        case '{', '[' -> {
          noChoices &= target != AnswerMember.CHOICES;
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
    key.add(bytes, from, end);
    if (end == to) {
      return to;
    }
    if (bytes[end] == '"') {
      target = target();
      state = State.COLON;
    } else {
      target = AnswerMember.NOTHING;
      state = State.SKIP_ESCAPE;
      skipped = -1;
    }
    return end + 1;
  }

  private int choices(ChoiceScan scan, byte[] bytes, int from, int to) {
    int end = scan.accept(bytes, from, to);
    noChoices &= scan.empty();
    if (scan.over()) {
      state = State.AFTER;
    }
    return end;
  }

  private void noteFinish() {
    if (finishReasons != null && !key.isCut()) {
      if (target == AnswerMember.FINISH_REASON) {
        finishReasons.finished(key.bytes(), key.length());
      } else if (target == AnswerMember.STATUS) {
        finishReasons.status(key.bytes(), key.length());
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
      idTaken |= target == AnswerMember.ID;
      noteFinish();
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
    ShortText text =
        switch (target) {
          case TYPE -> type;
          case ID -> id;
          default -> key;
        };
    text.add(bytes, from, to);
  }

  private void digit(byte c) {
    whole &= c >= '0' && c <= '9' && number < Integer.MAX_VALUE;
    number = number * 10 + (c - '0');
  }

  private void takeNumber() {
    if (whole) {
      tokens.take(target, number);
    }
  }

  private AnswerMember target() {
    AnswerMember member = AnswerMember.of(scopes[depth], key);
    boolean needed =
        switch (member) {
          case ID -> !idTaken;
          case ENDING, FINISH_REASON, STATUS -> finishReasons != null;
          default -> true;
        };
    return needed ? member : AnswerMember.NOTHING;
  }

  private static boolean blank(byte c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
}
