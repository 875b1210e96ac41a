package io.kvasir.gateway;

import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerRequest;
import io.kvasir.answers.Bypass;
import io.kvasir.answers.InFlightResponses;
import io.kvasir.answers.Lookup;
import io.kvasir.answers.SharedResponse;
import io.kvasir.answers.StoredAnswer;
import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
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
  private final InFlightResponses<Response> inFlight;

  CachedAnswers(AnswerCache cache) {
    this.cache = cache;
    this.inFlight = new InFlightResponses<>(cache);
  }

  /** Has a worker answer. */
  @FunctionalInterface
  interface WorkerAnswer {
    /** The worker's answer, or the router's own in its place. */
    Response answer(Cancellation cancellation) throws ApiException, InterruptedException;
  }

  /** One request and what belongs to it. */
  private record CacheableRequest(Exchange exchange, RequestTrace trace, ErrorFormat shape, WorkerAnswer worker) {}

  Response answer(
      Exchange exchange, ApiRequest request, RequestContext arrival, RequestTrace trace, ErrorFormat shape,
      WorkerAnswer live)
      throws ApiException, InterruptedException {
    CacheableRequest asked = new CacheableRequest(exchange, trace, shape, live);
    return switch (cache.lookUp(request(exchange, request, arrival))) {
      case Lookup.Bypassed(Bypass why) -> past(asked, why);
      case Lookup.Hit hit -> {
        trace.servedFromCache(200);
        yield replay(hit);
      }
      case Lookup.Miss miss -> got(asked, miss, true);
    };
  }

  private static AnswerRequest request(Exchange exchange, ApiRequest request, RequestContext arrival) {
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

  private static Response past(CacheableRequest asked, Bypass why) throws ApiException, InterruptedException {
    Response answer = asked.worker.answer(asked.exchange.cancellation());
    return answer.with(answer.headers().toBuilder().set(CACHE, BYPASS).set(REASON, why.label()).build());
  }

  private static Response replay(Lookup.Hit hit) {
    StoredAnswer kept = hit.answer();
    Headers headers =
        Headers.of("Content-Type", kept.contentType(), CACHE, HIT, "Age", Long.toString(hit.ageSeconds()));
    return kept.isEvents()
        ? new Response.Streaming(200, headers, StreamingBody.of(client -> inPieces(kept.body(), client)))
        : new Response.Buffered(200, headers, kept.body());
  }

  private static void inPieces(byte[] bytes, ByteSink client) throws IOException {
    for (int from = 0; from < bytes.length; from += PIECE) {
      client.write(bytes, from, Math.min(PIECE, bytes.length - from));
    }
  }

  /**
   * A worker's answer, got for this request or shared with an identical one.
   *
   * @param again whether a shared answer that is an error of the moment is tried once more, so that one failure is not
   *     that of all who waited
   */
  private Response got(CacheableRequest asked, Lookup.Miss miss, boolean again)
      throws ApiException, InterruptedException {
    SharedResponse<Response>.Subscriber seat = inFlight.join(miss);
    if (seat == null) {
      return past(asked, Bypass.CROWDED);
    }
    asked.exchange.cancellation().onCancelled(seat::cancel);
    if (seat.isLeader()) {
      Thread.ofVirtual().name("kvasir-answer").start(() -> fly(seat.response(), asked));
    }
    Response answer = seat.awaitHead();
    if (answer == null) {
      if (!seat.isLeader()) {
        asked.trace.cancelledFromCache(false);
      }
      return ClientCancelled.RESPONSE;
    }
    if (!seat.isLeader() && again && isOfTheMoment(answer.status())) {
      seat.cancel();
      return got(asked, miss, false);
    }
    Response marked = answer.with(marked(answer.headers(), miss, seat.isLeader(), answer.status()));
    if (seat.isStreamed()) {
      return new Response.Streaming(answer.status(), marked.headers(), new SharedBody(seat, asked.trace));
    }
    seat.cancel();
    if (!seat.isLeader()) {
      asked.trace.servedFromCache(answer.status());
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

  /** A subscriber's copy of a shared body. The leader's trace is finished with the worker's answer. */
  private static final class SharedBody implements StreamingBody {
    private final SharedResponse<Response>.Subscriber subscriber;
    private final RequestTrace trace;
    private final AtomicBoolean traced;

    SharedBody(SharedResponse<Response>.Subscriber subscriber, RequestTrace trace) {
      this.subscriber = subscriber;
      this.trace = trace;
      this.traced = new AtomicBoolean(subscriber.isLeader());
    }

    @Override
    public void run(ByteSink client) throws IOException {
      try {
        subscriber.copyTo(client);
      } catch (IOException e) {
        cancelled();
        throw e;
      }
      if (!traced.getAndSet(true)) {
        trace.servedFromCache(200);
      }
    }

    @Override
    public void abandon() {
      subscriber.cancel();
      cancelled();
    }

    private void cancelled() {
      if (!traced.getAndSet(true)) {
        trace.cancelledFromCache(true);
      }
    }
  }

  /** Gets an answer for all who have a seat, on a thread that is none of theirs. */
  private static void fly(SharedResponse<Response> flight, CacheableRequest asked) {
    try {
      Lookup.Hit hit = flight.recheckCache();
      if (hit != null) {
        asked.trace.servedFromCache(200);
        flight.complete(replay(hit));
        return;
      }
      land(flight, live(flight, asked));
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("an answer for {} {} failed inside the router", asked.exchange.method(), asked.exchange.path(), e);
      flight.fail(e);
    }
  }

  private static Response live(SharedResponse<Response> flight, CacheableRequest asked) {
    try {
      return asked.worker.answer(flight.cancellation());
    } catch (ApiException e) {
      asked.trace.refused(e.error());
      return asked.shape.answer(e.error());
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("a request for {} failed inside the router", asked.exchange.path(), e);
      asked.trace.refused(Gateway.INTERNAL);
      return asked.shape.answer(Gateway.INTERNAL);
    }
  }

  private static void land(SharedResponse<Response> flight, Response answer) {
    String type = keepable(answer);
    switch (answer) {
      case Response.Buffered whole -> {
        if (type == null) {
          flight.complete(whole);
        } else {
          flight.complete(whole, type, whole.body());
        }
      }
      case Response.Streaming streamed -> {
        flight.start(streamed, type != null);
        try {
          streamed.body().run(flight::write);
        } catch (IOException | RuntimeException e) {
          LOG.debug("an answer on its way was cut: {}", e.toString());
          flight.fail(e);
          return;
        }
        flight.completeBody(String.valueOf(type));
      }
    }
  }

  /** The type of a body that may be kept as far as its head says, null when it may not. */
  private static @Nullable String keepable(Response answer) {
    Headers headers = answer.headers();
    String type = headers.first("Content-Type");
    String encoding = headers.first("Content-Encoding");
    boolean plain = encoding == null || encoding.equalsIgnoreCase("identity");
    return answer.status() == 200 && type != null && plain && AnswerCache.isCacheable(type)
            && !headers.hasToken("Cache-Control", "no-store")
        ? type
        : null;
  }
}
