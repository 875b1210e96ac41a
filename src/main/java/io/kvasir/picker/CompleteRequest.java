package io.kvasir.picker;

import com.google.protobuf.UnsafeByteOperations;
import io.kvasir.gateway.body.RequestOutline;
import io.kvasir.gateway.request.ProxiedRequest;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.Headers;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.client.PodException;
import io.kvasir.http.server.Response;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request of a proxy that has come whole: the gateway decides on it, and its answer goes back to the proxy. It is
 * handled by a thread of its own, which may wait.
 */
final class CompleteRequest {
  private static final Logger LOG = LoggerFactory.getLogger(CompleteRequest.class);

  private final ShownRequest shown;
  private final int port;
  private final @Nullable String authority;
  private final ReplySender proxy;
  private final ResponseInbox inbox;
  private final MemoryBudget.Account memory;
  private final CancellationSource cancellation;
  private final PickerServices services;
  private @Nullable RequestOutline outline;
  private final BooleanSupplier claim;
  private volatile boolean sent;

  /**
   * A request that has come.
   *
   * @param port the listening port that the proxy called
   * @param authority the host that it called, null where it named none
   * @param claim asked before the proxy is told anything: false when it has answered by itself
   */
  CompleteRequest(
      ShownRequest shown,
      int port,
      @Nullable String authority,
      ReplySender proxy,
      ResponseInbox inbox,
      MemoryBudget.Account memory,
      CancellationSource cancellation,
      BooleanSupplier claim,
      PickerServices services) {
    this.shown = shown;
    this.port = port;
    this.authority = authority;
    this.proxy = proxy;
    this.inbox = inbox;
    this.memory = memory;
    this.cancellation = cancellation;
    this.claim = claim;
    this.services = services;
  }

  /** Whether the proxy has been told where it goes. Any thread. */
  boolean isSent() {
    return sent;
  }

  /**
   * Has the gateway decide, and takes its answer to the proxy.
   *
   * @return how it ended, as metrics have it
   */
  String handle() throws InterruptedException {
    ProxyHead begun = shown.head();
    PlainRequest plain =
        PlainRequest.of(shown, services.settings().limits().maxBodyBytes(), memory);
    Supplier<RequestOutline> outline = () -> outline(plain.body());
    PoolSet pools = services.pools().current();
    Pool pool =
        PoolChoice.of(
            pools, port, authority, begun.subset(), services.cells(), () -> outline.get().model());
    RenamedModel renamed =
        RenamedModel.of(
            pools, pool, begun.headers(), plain.body(), outline, ThreadLocalRandom.current().nextDouble(),
            services.metrics());
    byte[] bytes = renamed == null ? plain.body() : renamed.body();
    PickedEndpoint placement =
        new PickedEndpoint(
            services.cells(), services.exclusions(), candidates(begun, pool), services.settings().fallbacks());
    ProxyCall call =
        new ProxyCall(shown, plain, placement, proxy, inbox, services, () -> sent = claim.getAsBoolean());
    ProxyExchange exchange =
        new ProxyExchange(
            begun.method(),
            begun.path() == null ? ProxyExchange.guessedTarget(begun.headers(), outline.get().members()) : begun.path(),
            headers(plain.headers(), pools, pool, renamed != null),
            bytes,
            memory,
            ProxyExchange.client(begun.headers()),
            cancellation);
    Response answer =
        services.gateway().handle(
            new ProxiedRequest(exchange, services.settings().keys(), new ProxyHandover(placement, call)));
    if (!sent) {
      return answered(answer);
    }
    ProxyResponse response = call.response();
    AnswerWriter writer = response == null ? null : response.writer();
    if (response == null || writer == null) {
      proxy.end();
      return cancellation.isCancelled() ? "cancelled" : "picked";
    }
    if (answer.status() != response.status() && writer.canBeReplaced()) {
      return answered(answer);
    }
    if (renamed != null) {
      writer.rename(renamed);
    }
    return relayed(answer, writer, changes(answer, response, placement), response.headers()) ? "picked"
        : cancellation.isCancelled() ? "cancelled" : "failed";
  }

  /** What the body shows, looked for once, and only where it matters. */
  private RequestOutline outline(byte[] body) {
    RequestOutline known = outline;
    if (known == null) {
      known = RequestOutline.of(body);
      outline = known;
    }
    return known;
  }

  private static Headers headers(Headers shown, PoolSet pools, Pool pool, boolean renamed) {
    String objective = shown.first("x-llm-d-inference-objective");
    String named = objective == null ? shown.first("x-gateway-inference-objective") : objective;
    if (named == null && !renamed) {
      return shown;
    }
    Headers.Builder headers = shown.toBuilder();
    if (named != null) {
      headers.set(RoutingHeaders.PRIORITY, Integer.toString(pools.priority(pool.id(), named)));
    }
    // A response in which a name is to be found must come in plain bytes.
    return (renamed ? headers.remove("accept-encoding") : headers).build();
  }

  private PoolWorkers candidates(ProxyHead begun, Pool pool) {
    String chosen = services.settings().conformance() ? begun.headers().first(RoutingHeaders.TEST_SELECTION) : null;
    return new PoolWorkers(pool, chosen == null ? begun.subset() : Endpoints.listed(chosen));
  }

  private String answered(Response answer) {
    if (!claim.getAsBoolean()) {
      return "passed";
    }
    switch (answer) {
      case Response.Buffered whole ->
          proxy.end(Replies.immediate(whole, UnsafeByteOperations.unsafeWrap(whole.body())));
      case Response.Streaming streamed -> {
        // There is no stream in an immediate answer; nothing answers so without a worker.
        streamed.body().abandon();
        proxy.cut();
        return "failed";
      }
    }
    return cancellation.isCancelled() ? "cancelled" : "answered";
  }

  private HeaderChanges changes(Response answer, ProxyResponse response, PickedEndpoint placement) {
    Headers headers = answer.headers();
    String moved = placement.servedWorker();
    if (moved != null && headers.has("X-Router-Backend")) {
      headers = headers.toBuilder().set("X-Router-Backend", moved).build();
    }
    HeaderChanges changes = HeaderChanges.between(response.headers(), headers);
    if (services.settings().conformance()) {
      changes
          .set(RoutingHeaders.TEST_SERVED, response.served().isEmpty() ? "fail: not served" : response.served())
          .set(RoutingHeaders.TEST_SELECTED, placement.chosenAddress())
          .set(RoutingHeaders.TEST_POOL, placement.pool());
    }
    return changes;
  }

  private boolean relayed(Response answer, AnswerWriter writer, HeaderChanges changes, Headers came) {
    try {
      switch (answer) {
        case Response.Buffered whole -> {
          writer.begin(changes, came, whole.body().length);
          writer.writeWhole(whole.body());
        }
        case Response.Streaming streamed -> {
          try {
            writer.begin(changes, came, -1);
          } catch (IOException gone) {
            streamed.body().abandon();
            throw gone;
          }
          streamed.body().run(writer);
        }
      }
      writer.end();
      // From here on the proxy may cancel the stream without having cancelled the request.
      cancellation.close();
      return true;
    } catch (PodException cut) {
      LOG.debug("a response was cut: {}", cut.toString());
    } catch (IOException gone) {
      LOG.debug("a proxy's stream has ended: {}", gone.toString());
    }
    proxy.cut();
    return false;
  }
}
