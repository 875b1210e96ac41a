package io.kvasir.execution.stream;

import io.kvasir.cell.Outcome;
import io.kvasir.http.Headers;
import io.kvasir.http.SseScanner;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Watches an answer's bytes go by and remembers what the router must know of it: that the first token
 * has come, what the engine counted, an error inside a stream, and whether the answer came to its
 * own end. The bytes may be cut anywhere; they are neither kept nor changed, and nothing is allocated.
 *
 * <p>An event stream is read in the dialects of OpenAI's chat, completions and Responses APIs and of Anthropic's
 * Messages. One thread at a time.
 */
public final class AnswerTap {
  /** What the answer's bytes are. */
  public enum Form {
    /** Server-sent events. */
    EVENTS,
    /** One JSON document. */
    JSON,
    /** Anything else: only its first byte is noticed. */
    OPAQUE
  }

  private static final byte[] DONE = ascii("[DONE]");
  private static final byte[][] ENDS =
      {ascii("message_stop"), ascii("response.completed"), ascii("response.incomplete")};
  private static final byte[][] FAILURES = {ascii("error"), ascii("response.failed")};
  /** Events that come before there is anything to show. */
  private static final byte[][] LIFECYCLES = {
    ascii("ping"), ascii("message_start"), ascii("response.created"), ascii("response.queued"),
    ascii("response.in_progress")
  };

  private final Form form;
  private final @Nullable FinishReasons finishReasons;
  private final JsonScan scan;
  private final SseScanner scanner = new SseScanner(new EventListener());

  /** How much of {@link #DONE} the event's data has matched; -1 when it is something else. */
  private int done;

  private boolean content;
  private int contentEvents;
  private boolean ended;
  private boolean failed;
  private boolean usageOnly;

  /** A tap that does not note why the answer ended. */
  public AnswerTap(Form form) {
    this(form, false);
  }

  /** A tap that notes why the answer ended, or not; where it does, that is all it allocates for. */
  public AnswerTap(Form form, boolean notesFinishReasons) {
    this.form = form;
    this.finishReasons = notesFinishReasons ? new FinishReasons() : null;
    this.scan = new JsonScan(finishReasons);
  }

  /** A tap of an event stream, which tells of the choices in it as their bytes pass. */
  AnswerTap(ChoiceListener choices) {
    this.form = Form.EVENTS;
    this.finishReasons = null;
    this.scan = new JsonScan(choices);
  }

  /** Has {@code choices} told of the choices in the events to come. */
  void listen(ChoiceListener choices) {
    scan.listen(choices);
  }

  /** The form of a body with these headers; one that is compressed cannot be looked into. */
  public static Form formOf(Headers headers) {
    String type = headers.first("Content-Type");
    String encoding = headers.first("Content-Encoding");
    if (type == null || (encoding != null && !encoding.equalsIgnoreCase("identity"))) {
      return Form.OPAQUE;
    }
    int parameters = type.indexOf(';');
    String bare = parameters < 0 ? type : type.substring(0, parameters);
    return switch (bare.strip().toLowerCase(Locale.ROOT)) {
      case "text/event-stream" -> Form.EVENTS;
      case "application/json" -> Form.JSON;
      default -> Form.OPAQUE;
    };
  }

  /** What the bytes are. */
  public Form form() {
    return form;
  }

  /** Watches {@code bytes[from, to)} pass. */
  public void accept(byte[] bytes, int from, int to) {
    switch (form) {
      case EVENTS -> scanner.accept(bytes, from, to);
      case JSON -> {
        content |= to > from;
        scan.accept(bytes, from, to);
      }
      case OPAQUE -> content |= to > from;
    }
  }

  /** Watches an event stream's bytes to the end of the first event in them; returns that end, -1 without one. */
  int acceptEvent(byte[] bytes, int from, int to) {
    return scanner.acceptEvent(bytes, from, to);
  }

  /** The body is over. */
  public void end() {
    switch (form) {
      case EVENTS -> scanner.end();
      case JSON -> {
        ended = scan.complete();
        failed |= scan.error();
      }
      case OPAQUE -> ended = true;
    }
  }

  /** Whether something of the answer itself has come. */
  public boolean firstToken() {
    return content;
  }

  /** Events of an event stream that had something of the answer itself. */
  public int contentEvents() {
    return contentEvents;
  }

  /** Whether the answer reached its own end: its terminator, or a whole document. */
  public boolean ended() {
    return ended;
  }

  /** Whether the answer has an error. */
  public boolean failed() {
    return failed;
  }

  /** Whether the last event carried usage and no choice: what {@code include_usage} adds to a stream. */
  boolean usageOnly() {
    return usageOnly;
  }

  /** Whether the last event carried usage: the counts are those of the answer up to it. */
  boolean hasUsage() {
    return scan.hasUsage();
  }

  /** The answer's id, empty when it has not been seen. */
  public String id() {
    return scan.id();
  }

  /** Why the answer's choices ended, as the engine says; empty when it has not, or was not listened to. */
  public List<String> finishReasons() {
    return finishReasons == null ? List.of() : finishReasons.list();
  }

  /** Tokens of the prompt as the engine counted them, or {@link Outcome#UNKNOWN}. */
  public int promptTokens() {
    return count(scan.tokens().prompt());
  }

  /** Tokens of the prompt the engine found in its cache, or {@link Outcome#UNKNOWN}. */
  public int cachedTokens() {
    return count(scan.tokens().cached());
  }

  /** Tokens generated, or {@link Outcome#UNKNOWN}. */
  public int outputTokens() {
    return count(scan.tokens().output());
  }

  private static int count(long tokens) {
    return tokens < 0 || tokens > Integer.MAX_VALUE ? Outcome.UNKNOWN : (int) tokens;
  }

  private final class EventListener implements SseScanner.Listener {
    @Override
    public void dataStarted() {
      done = 0;
      scan.reset();
    }

    @Override
    public void data(byte[] bytes, int from, int to) {
      if (done >= 0) {
        matchDone(bytes, from, to);
      }
      scan.accept(bytes, from, to);
    }

    @Override
    public void eventEnded(boolean hasData) {
      usageOnly = false;
      if (hasData) {
        readEvent();
      }
    }
  }

  private void matchDone(byte[] bytes, int from, int to) {
    for (int at = from; at < to && done >= 0; at++) {
      done = done < DONE.length && bytes[at] == DONE[done] ? done + 1
          : done == DONE.length && bytes[at] == ' ' ? done
          : -1;
    }
  }

  private void readEvent() {
    usageOnly = scan.usageOnly();
    if (done == DONE.length) {
      ended = true;
    } else if (scan.error() || is(FAILURES)) {
      failed = true;
    } else if (is(ENDS)) {
      ended = true;
    } else if (!is(LIFECYCLES)) {
      content = true;
      contentEvents++;
    }
  }

  private boolean is(byte[][] names) {
    for (byte[] candidate : names) {
      if (scan.hasType() ? scan.typeIs(candidate) : scanner.nameIs(candidate)) {
        return true;
      }
    }
    return false;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
