package io.kvasir.app.node;

import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import io.kvasir.gateway.EventForwarder;
import io.kvasir.http.Headers;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.time.NanoClock;
import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Predicate;
import javax.net.ssl.SSLContext;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.apache.pekko.actor.typed.receptionist.ServiceKey;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Forwards pushed events by HTTP to the gateway of the node that reads the worker's. Nodes find each other through the
 * receptionist; which of them reads a worker's events is looked up once and cached, also when it is none. Thread-safe.
 */
final class PushForwarder implements EventForwarder, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PushForwarder.class);
  private static final ServiceKey<FindConsumer> KEY = ServiceKey.create(FindConsumer.class, "kvasir-push");
  private static final Duration QUERY_TIMEOUT = Duration.ofMillis(500);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration FORWARD_TIMEOUT = Duration.ofSeconds(10);
  private static final int MAX_WORKERS = 10_000;
  private static final Duration KNOWN_FOR = Duration.ofMinutes(10);
  /** Short, for a cell that moves is read nowhere for a moment. */
  private static final Duration UNKNOWN_FOR = Duration.ofSeconds(1);
  /** The headers of a push that are forwarded with it. */
  private static final List<String> FORWARDED_HEADERS = List.of("Content-Type", "Authorization", "Kvasir-Sequence");
  private static final List<String> RETURNED_HEADERS = List.of("Content-Type", "Retry-After", "WWW-Authenticate");

  /** The protocol between nodes. */
  sealed interface Message {}

  /** A query whether the node reads a worker's pushed events. */
  record FindConsumer(String worker, ActorRef<ConsumerGateway> replyTo) implements Message {}

  /** Replies with the gateway of the node if it does, empty if not. */
  record ConsumerGateway(String gateway) implements Message {}

  private final ActorSystem<?> system;
  private final HttpCalls http;
  /** The gateways by worker, empty where no node reads a worker's events. A lookup that runs is shared. */
  private final AsyncCache<String, Optional<String>> gateways;

  /**
   * A forwarder.
   *
   * @param tls for other nodes' gateways with TLS, null for what the JVM trusts
   */
  PushForwarder(ActorSystem<?> system, @Nullable SSLContext tls, NanoClock clock) {
    this.system = system;
    this.http = new HttpCalls(CONNECT_TIMEOUT, tls);
    this.gateways = Caffeine.newBuilder()
        .maximumSize(MAX_WORKERS)
        .ticker(clock::nanos)
        .expireAfter(Expiry.<String, Optional<String>>writing(
            (worker, gateway) -> gateway.isPresent() ? KNOWN_FOR : UNKNOWN_FOR))
        .buildAsync();
  }

  /**
   * Registers this node's gateway with the other nodes.
   *
   * @param gateway its address as they reach it, such as {@code http://10.0.0.1:8080}
   * @param reads whether this node reads a worker's pushed events
   */
  void announce(String gateway, Predicate<String> reads) {
    Behavior<FindConsumer> behavior =
        Behaviors.receiveMessage(
            find -> {
              find.replyTo().tell(new ConsumerGateway(reads.test(find.worker()) ? gateway : ""));
              return Behaviors.same();
            });
    ActorRef<FindConsumer> self = system.systemActorOf(behavior, "kvasir-push", Props.empty());
    system.receptionist().tell(Receptionist.register(KEY, self));
  }

  @Override
  public @Nullable Response forward(String worker, Exchange exchange) throws InterruptedException {
    Optional<String> known = gateway(worker);
    if (known.isEmpty()) {
      return null;
    }
    String gateway = known.get();
    HttpCalls.Request request =
        HttpCalls.Request.of("POST", URI.create(gateway + exchange.target()), FORWARD_TIMEOUT)
            .withHeader(FORWARDED, "1")
            .withBody(exchange.body());
    for (String name : FORWARDED_HEADERS) {
      String value = exchange.headers().first(name);
      if (value != null) {
        request = request.withHeader(name, value);
      }
    }
    try {
      HttpCalls.Reply reply = http.send(request);
      if (reply.status() == 404 || reply.status() == 503) {
        gateways.asMap().remove(worker);
      }
      return new Response.Buffered(reply.status(), headers(reply), reply.body());
    } catch (HttpCallException e) {
      gateways.asMap().remove(worker);
      LOG.info("a push for {} could not be forwarded to {}: {}", worker, gateway, e.toString());
      return null;
    }
  }

  private static Headers headers(HttpCalls.Reply reply) {
    Headers.Builder headers = Headers.builder();
    for (String name : RETURNED_HEADERS) {
      reply.header(name).ifPresent(value -> headers.add(name, value));
    }
    return headers.build();
  }

  private Optional<String> gateway(String worker) throws InterruptedException {
    try {
      return gateways.get(worker, (name, _) -> find(name)).get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("looking for the node that reads " + worker, e.getCause());
    }
  }

  /** The gateway of the first node to reply that it reads a worker's events; empty when none does in time. */
  private CompletableFuture<Optional<String>> find(String worker) {
    return AskPattern.<Receptionist.Command, Receptionist.Listing>ask(
            system.receptionist(), replyTo -> Receptionist.find(KEY, replyTo), QUERY_TIMEOUT, system.scheduler())
        .thenCompose(listing -> firstOf(listing.getServiceInstances(KEY), worker))
        .exceptionally(
            late -> {
              LOG.info("the other nodes were not found in time: {}", late.getMessage());
              return Optional.empty();
            })
        .toCompletableFuture();
  }

  private CompletableFuture<Optional<String>> firstOf(Collection<ActorRef<FindConsumer>> nodes, String worker) {
    CompletableFuture<Optional<String>> first = new CompletableFuture<>();
    CompletableFuture<?>[] queries = nodes.stream()
        .map(node -> AskPattern.<FindConsumer, ConsumerGateway>ask(
                node, replyTo -> new FindConsumer(worker, replyTo), QUERY_TIMEOUT, system.scheduler())
            .thenAccept(
                reply -> {
                  if (!reply.gateway().isEmpty()) {
                    first.complete(Optional.of(reply.gateway()));
                  }
                })
            // A node that is stopping: another may read them.
            .exceptionally(late -> null)
            .toCompletableFuture())
        .toArray(CompletableFuture<?>[]::new);
    var _ = CompletableFuture.allOf(queries).thenRun(() -> first.complete(Optional.empty()));
    return first;
  }

  @Override
  public void close() {
    http.close();
  }
}
