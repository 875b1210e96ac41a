package io.kvasir.gateway;

import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerRequest;
import io.kvasir.answers.Bypass;
import io.kvasir.answers.InFlightResponses;
import io.kvasir.answers.Lookup;
import io.kvasir.answers.SharedResponse;
import io.kvasir.answers.StoredAnswer;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.error.ApiBoundary;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.ClientCancelled;
import io.kvasir.gateway.request.ParsedRequest;
import io.kvasir.gateway.request.RequestContext;
import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.telemetry.RedactedException;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The response cache in front of the workers: answers what it holds, has a worker answer the rest and puts that into
 * it. {@code X-Router-Cache} reports to the client which it was. Thread-safe.
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
  private final InFlightResponses<SharedAnswer> inFlight;

  CachedAnswers(AnswerCache cache) {
    this.cache = cache;
    this.inFlight = new InFlightResponses<>(cache);
  }

  /** Executes a request. */
  @FunctionalInterface
  interface WorkerAnswer {
    /** The worker's answer, or the router's own in its place. */
    Response answer(Cancellation cancellation) throws ApiException, InterruptedException;
  }

  /** Tells how urgent a request is. */
  @FunctionalInterface
  interface Urgency {
    /** The same for requests that wait for a worker alike. */
    String label() throws ApiException;
  }

  /** One request and what belongs to it. */
  record CacheableRequest(
      Exchange exchange, ParsedRequest parsed, RequestTelemetry telemetry, ApiBoundary boundary, Urgency urgency,
      WorkerAnswer worker) {}

  /** Who gave an answer. */
  private enum Origin {
    WORKER,
    CACHE,
    /** The router, which refused the request that was to get it from a worker, or failed on it. */
    ROUTER
  }

  /** An answer for every request that waits for it, as far as it is not its leader's own. */
  private record SharedAnswer(Response response, Origin origin) {}

  Response answer(CacheableRequest request) throws ApiException, InterruptedException {
    return switch (cache.lookUp(lookedUp(request.exchange, request.parsed.request(), request.parsed.context()))) {
      case Lookup.Bypassed(Bypass why) -> bypass(request, why);
      case Lookup.Hit hit -> {
        request.telemetry.end(RequestEnd.FromCache.answered(200));
        yield replay(hit);
      }
      case Lookup.Miss miss -> answerMiss(request, miss, true);
    };
  }

  private static AnswerRequest lookedUp(Exchange exchange, ApiRequest request, RequestContext context) {
    String path = exchange.path();
    String target = exchange.target();
    return new AnswerRequest(
        path,
        target.length() > path.length() ? target.substring(path.length() + 1) : "",
        context.facts().tenant(),
        context.facts().owner(),
        context.model(),
        context.profile().name(),
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

  private static Response bypass(CacheableRequest request, Bypass why) throws ApiException, InterruptedException {
    Response answer = request.worker.answer(request.exchange.cancellation());
    return answer.with(answer.headers().toBuilder().set(CACHE, BYPASS).set(REASON, why.label()).build());
  }

  private static Response replay(Lookup.Hit hit) {
    StoredAnswer stored = hit.answer();
    Headers headers =
        Headers.of("Content-Type", stored.contentType(), CACHE, HIT, "Age", Long.toString(hit.ageSeconds()));
    return stored.isEvents()
        ? new Response.Streaming(200, headers, StreamingBody.of(client -> inPieces(stored.body(), client)))
        : new Response.Buffered(200, headers, stored.body());
  }

  private static void inPieces(byte[] bytes, ByteSink client) throws IOException {
    for (int from = 0; from < bytes.length; from += PIECE) {
      client.write(bytes, from, Math.min(PIECE, bytes.length - from));
    }
  }

  /**
   * A worker's answer, to this request or shared with an identical one.
   *
   * @param again whether a shared answer that is a transient error is tried once more, so that one failure is not that
   *     of every request that waited for it
   */
  private Response answerMiss(CacheableRequest request, Lookup.Miss miss, boolean again)
      throws ApiException, InterruptedException {
    SharedResponse<SharedAnswer>.Subscriber subscriber = inFlight.join(miss, request.urgency.label());
    if (subscriber == null) {
      return bypass(request, Bypass.CROWDED);
    }
    request.exchange.cancellation().onCancelled(subscriber::cancel);
    if (subscriber.isLeader()) {
      Thread.ofVirtual().name("kvasir-answer").start(() -> lead(subscriber.response(), request));
    }
    SharedAnswer shared = subscriber.awaitHead();
    if (shared == null) {
      if (!subscriber.isLeader()) {
        request.telemetry.end(RequestEnd.FromCache.cancelled(false));
      }
      return ClientCancelled.RESPONSE;
    }
    if (!subscriber.isLeader() && shared.origin == Origin.ROUTER) {
      subscriber.bypass(Bypass.REFUSED);
      return bypass(request, Bypass.REFUSED);
    }
    Response answer = shared.response;
    if (!subscriber.isLeader() && again && isTransient(answer.status())) {
      subscriber.cancel();
      return answerMiss(request, miss, false);
    }
    Response marked =
        shared.origin == Origin.CACHE ? answer : answer.with(marked(answer, miss, subscriber.isLeader()));
    if (subscriber.isStreamed()) {
      return new Response.Streaming(answer.status(), marked.headers(), new SharedBody(subscriber, request.telemetry));
    }
    subscriber.cancel();
    if (!subscriber.isLeader()) {
      request.telemetry.end(RequestEnd.FromCache.answered(answer.status()));
    }
    return marked;
  }

  private static boolean isTransient(int status) {
    return status >= 499 || status == 408 || status == 429;
  }

  private static Headers marked(Response answer, Lookup.Miss miss, boolean leader) {
    Headers.Builder marked =
        leader ? answer.headers().toBuilder() : AnswerHeaders.withoutRoute(answer.headers());
    if (miss.refresh()) {
      return marked.set(CACHE, BYPASS).set(REASON, Bypass.NO_CACHE.label()).build();
    }
    return leader || answer.status() != 200
        ? marked.set(CACHE, MISS).build()
        : marked.set(CACHE, HIT).set("Age", "0").build();
  }

  /** A subscriber's copy of a shared body. The leader's telemetry is finished with the worker's answer. */
  private static final class SharedBody implements StreamingBody {
    private final SharedResponse<SharedAnswer>.Subscriber subscriber;
    private final RequestTelemetry telemetry;
    private final AtomicBoolean traced;

    SharedBody(SharedResponse<SharedAnswer>.Subscriber subscriber, RequestTelemetry telemetry) {
      this.subscriber = subscriber;
      this.telemetry = telemetry;
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
        telemetry.end(RequestEnd.FromCache.answered(200));
      }
    }

    @Override
    public void abandon() {
      subscriber.cancel();
      cancelled();
    }

    private void cancelled() {
      if (!traced.getAndSet(true)) {
        telemetry.end(RequestEnd.FromCache.cancelled(true));
      }
    }
  }

  /** Gets a worker's answer for every subscriber, on a thread that is none of theirs. */
  private static void lead(SharedResponse<SharedAnswer> response, CacheableRequest request) {
    try {
      SharedAnswer answer = answerOfLeader(response, request);
      if (answer.origin == Origin.WORKER) {
        publish(response, answer);
      } else {
        response.complete(answer);
      }
    } catch (Exception | LinkageError | StackOverflowError e) {
      request.telemetry.logIds().in(LOG.atError()).setCause(RedactedException.of(e))
          .log("an answer for {} {} failed inside the router", request.exchange.method(), request.exchange.path());
      response.fail(e);
    }
  }

  private static SharedAnswer answerOfLeader(SharedResponse<SharedAnswer> response, CacheableRequest request)
      throws InterruptedException {
    AtomicReference<@Nullable SharedAnswer> given = new AtomicReference<>();
    Response answer = request.boundary.answer(() -> {
      SharedAnswer found = found(response, request);
      given.set(found);
      return found.response;
    });
    SharedAnswer found = given.get();
    return found == null ? new SharedAnswer(answer, Origin.ROUTER) : found;
  }

  private static SharedAnswer found(SharedResponse<SharedAnswer> response, CacheableRequest request)
      throws ApiException, InterruptedException {
    // Another request may have put it there in the meantime.
    Lookup.Hit hit = response.recheckCache();
    if (hit == null) {
      return new SharedAnswer(request.worker.answer(response.cancellation()), Origin.WORKER);
    }
    request.telemetry.end(RequestEnd.FromCache.answered(200));
    return new SharedAnswer(replay(hit), Origin.CACHE);
  }

  private static void publish(SharedResponse<SharedAnswer> response, SharedAnswer answer) {
    String type = cacheableType(answer.response);
    switch (answer.response) {
      case Response.Buffered buffered -> {
        if (type == null) {
          response.complete(answer);
        } else {
          response.complete(answer, type, buffered.body());
        }
      }
      case Response.Streaming streamed -> {
        response.start(answer, type != null);
        try {
          streamed.body().run(response::write);
        } catch (IOException | RuntimeException e) {
          LOG.debug("a shared response ended early: {}", e.toString());
          response.fail(e);
          return;
        }
        response.completeBody(String.valueOf(type));
      }
    }
  }

  /** The content type of an answer that may be kept by its head, null for one that may not. */
  private static @Nullable String cacheableType(Response answer) {
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
