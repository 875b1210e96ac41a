package io.kvasir.gateway;

import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerRequest;
import io.kvasir.answers.Bypass;
import io.kvasir.answers.Flight;
import io.kvasir.answers.Flights;
import io.kvasir.answers.Lookup;
import io.kvasir.answers.StoredAnswer;
import io.kvasir.execution.ClientLink;
import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Relay;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The response cache around carrying a request out: what it holds is answered from there, what it lacks is got and
 * handed to it, and {@code X-Router-Cache} says which it was. Thread-safe.
 */
final class CachedAnswers {
  private static final Logger LOG = LoggerFactory.getLogger(CachedAnswers.class);

  private static final String CACHE = "X-Router-Cache";
  private static final String REASON = "X-Router-Cache-Reason";
  private static final String HIT = "hit";
  private static final String MISS = "miss";
  private static final String BYPASS = "bypass";
  private static final int PIECE = 64 << 10;

  private final AnswerCache cache;
  private final Flights<Answer> flights;

  CachedAnswers(AnswerCache cache) {
    this.cache = cache;
    this.flights = new Flights<>(cache);
  }

  /** Has a worker answer. */
  @FunctionalInterface
  interface Live {
    /** The worker's answer, or the router's own in its place; {@code client} says when nobody wants it any more. */
    Answer answer(ClientLink client) throws ApiException, InterruptedException;
  }

  /** One request and what belongs to it. */
  private record Asked(Exchange exchange, RequestTrace trace, ErrorShape shape, Live live) {}

  Answer answer(
      Exchange exchange, ApiRequest request, Arrival arrival, RequestTrace trace, ErrorShape shape, Live live)
      throws ApiException, InterruptedException {
    Asked asked = new Asked(exchange, trace, shape, live);
    return switch (cache.look(request(exchange, request, arrival))) {
      case Lookup.Passed(Bypass why) -> past(asked, why);
      case Lookup.Hit hit -> {
        trace.served(200);
        yield replay(hit);
      }
      case Lookup.Miss miss -> got(asked, miss, true);
    };
  }

  private static AnswerRequest request(Exchange exchange, ApiRequest request, Arrival arrival) {
    String path = exchange.path();
    String target = exchange.target();
    return new AnswerRequest(
        path,
        target.length() > path.length() ? target.substring(path.length() + 1) : "",
        arrival.facts().tenant(),
        arrival.facts().owner(),
        arrival.model(),
        arrival.profile().name(),
        name -> joined(exchange.headers(), name),
        request.body());
  }

  private static @Nullable String joined(Headers headers, String name) {
    String joined = null;
    for (int i = 0; i < headers.size(); i++) {
      if (headers.name(i).equalsIgnoreCase(name)) {
        joined = joined == null ? headers.value(i) : joined + ", " + headers.value(i);
      }
    }
    return joined;
  }

  private static Answer past(Asked asked, Bypass why) throws ApiException, InterruptedException {
    Answer answer = asked.live.answer(asked.exchange::onClientGone);
    return answer.with(answer.headers().toBuilder().set(CACHE, BYPASS).set(REASON, why.label()).build());
  }

  private static Answer replay(Lookup.Hit hit) {
    StoredAnswer kept = hit.answer();
    Headers headers =
        Headers.of("Content-Type", kept.contentType(), CACHE, HIT, "Age", Long.toString(hit.ageSeconds()));
    return kept.isEvents()
        ? new Answer.Streamed(200, headers, body -> inPieces(kept.body(), body))
        : new Answer.Whole(200, headers, kept.body());
  }

  private static void inPieces(byte[] bytes, Relay.Body body) throws IOException {
    for (int from = 0; from < bytes.length; from += PIECE) {
      body.write(bytes, from, Math.min(PIECE, bytes.length - from));
    }
  }

  /**
   * A worker's answer, got for this request or shared with an identical one.
   *
   * @param again whether a shared answer that is an error of the moment is tried once more, so that one failure is not
   *     that of all who waited
   */
  private Answer got(Asked asked, Lookup.Miss miss, boolean again) throws ApiException, InterruptedException {
    Flight<Answer>.Seat seat = flights.board(miss);
    if (seat == null) {
      return past(asked, Bypass.CROWDED);
    }
    asked.exchange.onClientGone(seat::leave);
    if (seat.leads()) {
      Thread.ofVirtual().name("kvasir-answer").start(() -> fly(seat.flight(), asked));
    }
    Answer answer = seat.head();
    if (answer == null) {
      if (!seat.leads()) {
        asked.trace.left(false);
      }
      return new Answer.Whole(499, Headers.EMPTY, new byte[0]);
    }
    if (!seat.leads() && again && isOfTheMoment(answer.status())) {
      seat.leave();
      return got(asked, miss, false);
    }
    Answer marked = answer.with(marked(answer.headers(), miss, seat.leads(), answer.status()));
    if (seat.streams()) {
      return new Answer.Streamed(answer.status(), marked.headers(), body -> copy(seat, body, asked.trace));
    }
    seat.leave();
    if (!seat.leads()) {
      asked.trace.served(answer.status());
    }
    return marked;
  }

  private static boolean isOfTheMoment(int status) {
    return status >= 499 || status == 408 || status == 429;
  }

  private static Headers marked(Headers headers, Lookup.Miss miss, boolean leads, int status) {
    Headers.Builder marked = headers.toBuilder();
    if (headers.has(CACHE)) {
      // Kept by somebody else in the meantime.
      return headers;
    }
    if (miss.refresh()) {
      return marked.set(CACHE, BYPASS).set(REASON, Bypass.NO_CACHE.label()).build();
    }
    return leads || status != 200 ? marked.set(CACHE, MISS).build() : marked.set(CACHE, HIT).set("Age", "0").build();
  }

  private static void copy(Flight<Answer>.Seat seat, Relay.Body body, RequestTrace trace) throws IOException {
    try {
      seat.copyTo(body::write);
    } catch (IOException e) {
      if (!seat.leads()) {
        trace.left(true);
      }
      throw e;
    }
    if (!seat.leads()) {
      trace.served(200);
    }
  }

  /** Gets an answer for all who have a seat, on a thread that is none of theirs. */
  private static void fly(Flight<Answer> flight, Asked asked) {
    try {
      Lookup.Hit hit = flight.again();
      if (hit != null) {
        asked.trace.served(200);
        flight.landed(replay(hit));
        return;
      }
      land(flight, live(flight, asked));
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("an answer for {} {} failed inside the router", asked.exchange.method(), asked.exchange.path(), e);
      flight.failed(e);
    }
  }

  private static Answer live(Flight<Answer> flight, Asked asked) {
    try {
      return asked.live.answer(flight::onAbandoned);
    } catch (ApiException e) {
      asked.trace.refused(e.error());
      return asked.shape.answer(e.error());
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("a request for {} failed inside the router", asked.exchange.path(), e);
      asked.trace.refused(Gateway.INTERNAL);
      return asked.shape.answer(Gateway.INTERNAL);
    }
  }

  private static void land(Flight<Answer> flight, Answer answer) {
    String type = keepable(answer);
    switch (answer) {
      case Answer.Whole whole -> {
        if (type == null) {
          flight.landed(whole);
        } else {
          flight.landed(whole, type, whole.body());
        }
      }
      case Answer.Streamed streamed -> {
        flight.departed(streamed, type != null);
        try {
          streamed.relay().run(flight::write);
        } catch (Exception e) {
          LOG.debug("an answer on its way was cut: {}", e.toString());
          flight.failed(e);
          return;
        }
        flight.completed(String.valueOf(type));
      }
    }
  }

  /** The type of a body that may be kept as far as its head says, null when it may not. */
  private static @Nullable String keepable(Answer answer) {
    Headers headers = answer.headers();
    String type = headers.first("Content-Type");
    String encoding = headers.first("Content-Encoding");
    boolean plain = encoding == null || encoding.equalsIgnoreCase("identity");
    return answer.status() == 200 && type != null && plain && AnswerCache.keeps(type)
            && !headers.hasToken("Cache-Control", "no-store")
        ? type
        : null;
  }
}
