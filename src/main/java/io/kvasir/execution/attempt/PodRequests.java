package io.kvasir.execution.attempt;

import io.kvasir.cell.Decision;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.execution.Call;
import io.kvasir.execution.dialect.AdapterNames;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.PeerTier;
import io.kvasir.execution.dialect.RetainedRequest;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodRequest;
import io.kvasir.routing.KvPull;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/** HTTP requests to workers: the client's own, or what a dialect makes of it. */
public final class PodRequests {
  private PodRequests() {}

  /**
   * The client's own request, with the name of the worker that the chosen one is to take KV blocks from, if any, that
   * of its program where the worker's engine is to retain what that uses, and its model's as the engine has it.
   *
   * @param engine what is known of the worker's engine
   */
  public static PodRequest original(Call call, Decision.Chosen chosen, String id, LearntEngine engine) {
    KvPull pull = chosen.step().pull();
    EngineRequest message =
        pull == null
            ? retained(call, chosen.worker())
            : PeerTier.pull(call.http().target(), call.http().body(), pull, id);
    message = engine.prefixesAdapters() ? withBase(call, chosen.worker(), message) : message;
    return message == null
        ? request(
            call, chosen.worker(), id, call.http().target(), call.http().headers().toBuilder(), call.http().body())
        : passedThrough(call, chosen.worker(), id, message);
  }

  private static @Nullable EngineRequest withBase(Call call, Worker worker, @Nullable EngineRequest message) {
    if (message == null) {
      return AdapterNames.withBase(worker, call.decision().model(), call.http().target(), call.http().body());
    }
    EngineRequest named = AdapterNames.withBase(worker, call.decision().model(), message.path(), message.body());
    return named == null ? message : new EngineRequest(named.path(), named.body(), message.headers());
  }

  private static @Nullable EngineRequest retained(Call call, Worker worker) {
    String program = call.decision().prepared().get(Slots.PROGRAM);
    return program == null || call.decision().shape().severalPrompts()
        ? null
        : RetainedRequest.of(worker.retention(), call.http().target(), call.http().body(), program);
  }

  /** A dialect's message whose response the client gets as it is. */
  public static PodRequest passedThrough(Call call, Worker worker, String id, EngineRequest message) {
    return request(call, worker, id, target(call, message), headers(call, message), message.body());
  }

  /** A dialect's message whose response the router reads, and which must come in plain bytes. */
  public static PodRequest readByRouter(Call call, Worker worker, String id, EngineRequest message) {
    Headers.Builder headers = headers(call, message).remove("Accept-Encoding");
    return request(call, worker, id, target(call, message), headers, message.body());
  }

  private static PodRequest request(
      Call call, Worker worker, String id, String target, Headers.Builder headers, byte[] body) {
    Headers given = headers.build();
    Headers.Builder all = given.toBuilder();
    if (!given.has("X-Request-Id")) {
      all.add("X-Request-Id", id);
    }
    if (worker.ranks() > 1) {
      all.set("X-data-parallel-rank", Integer.toString(worker.rank()));
    }
    return new PodRequest(worker.url(), call.http().method(), target, all.build(), body);
  }

  private static Headers.Builder headers(Call call, EngineRequest message) {
    Headers.Builder headers = call.http().headers().toBuilder();
    message.headers().forEach(headers::set);
    return headers;
  }

  /** The client's own target where the message goes to its path, with the query. */
  private static String target(Call call, EngineRequest message) {
    int query = call.http().target().indexOf('?');
    String path = query < 0 ? call.http().target() : call.http().target().substring(0, query);
    return message.path().equals(path) ? call.http().target() : message.path();
  }
}
