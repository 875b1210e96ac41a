package io.kvasir.app.node;

import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
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
 * Passes pushed events on to the node that reads them. Nodes find each other through the receptionist and ask one
 * another who takes a worker's pushes; the body goes by HTTP to that node's gateway. Thread-safe.
 */
final class PushForwarder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PushForwarder.class);
  private static final ServiceKey<FindConsumer> KEY = ServiceKey.create(FindConsumer.class, "kvasir-push");
  private static final Duration QUERY_TIMEOUT = Duration.ofMillis(500);
  private static final Duration FORWARD_TIMEOUT = Duration.ofSeconds(10);
  /** What a forwarded push keeps of its headers, and its answer of its own. */
  private static final Set<String> FORWARDED_HEADERS = Set.of("Content-Type", "Authorization", "Kvasir-Sequence");

  /** Crosses between nodes. */
  sealed interface Message {}

  /** Whether the node takes a worker's pushes. */
  record FindConsumer(String worker, ActorRef<ConsumerGateway> replyTo) implements Message {}

  /** The gateway of the node if it does, empty if not. */
  record ConsumerGateway(String gateway) implements Message {}

  private final ActorSystem<?> system;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2)).build();
  private final Map<String, String> gateways = new ConcurrentHashMap<>();

  /** The homes as this node finds them. */
  PushForwarder(ActorSystem<?> system) {
    this.system = system;
  }

  /**
   * Tells the other nodes what this one takes.
   *
   * @param gateway where they reach its gateway, such as {@code http://10.0.0.1:8080}
   * @param takes whether it takes a worker's pushes
   */
  void announce(String gateway, Predicate<String> takes) {
    Behavior<FindConsumer> behavior =
        Behaviors.receiveMessage(
            find -> {
              find.replyTo().tell(new ConsumerGateway(takes.test(find.worker()) ? gateway : ""));
              return Behaviors.same();
            });
    ActorRef<FindConsumer> self = system.systemActorOf(behavior, "kvasir-push", Props.empty());
    system.receptionist().tell(Receptionist.register(KEY, self));
  }

  /** What the node where the worker is at home answers; null when there is none, or it cannot be reached. */
  @Nullable Response forward(String worker, Exchange exchange, String mark) throws InterruptedException {
    String home = gateways.computeIfAbsent(worker, this::find);
    if (home == null) {
      return null;
    }
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(home + exchange.target()))
            .timeout(FORWARD_TIMEOUT)
            .header(mark, "1")
            .POST(HttpRequest.BodyPublishers.ofByteArray(exchange.body()));
    for (String name : FORWARDED_HEADERS) {
      String value = exchange.headers().first(name);
      if (value != null) {
        request.header(name, value);
      }
    }
    try {
      HttpResponse<byte[]> response = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
      if (response.statusCode() == 404 || response.statusCode() == 503) {
        gateways.remove(worker, home);
      }
      return new Response.Buffered(response.statusCode(), headers(response), response.body());
    } catch (IOException gone) {
      gateways.remove(worker, home);
      LOG.info("a push for {} could not be passed on to {}: {}", worker, home, gone.toString());
      return null;
    }
  }

  private static Headers headers(HttpResponse<?> response) {
    Headers.Builder headers = Headers.builder();
    for (String name : List.of("Content-Type", "Retry-After", "WWW-Authenticate")) {
      response.headers().firstValue(name).ifPresent(value -> headers.add(name, value));
    }
    return headers.build();
  }

  private @Nullable String find(String worker) {
    try {
      Receptionist.Listing listing =
          AskPattern.<Receptionist.Command, Receptionist.Listing>ask(
                  system.receptionist(), replyTo -> Receptionist.find(KEY, replyTo), QUERY_TIMEOUT, system.scheduler())
              .toCompletableFuture()
              .join();
      List<CompletionStage<ConsumerGateway>> asked =
          listing.getServiceInstances(KEY).stream()
              .map(
                  node ->
                      AskPattern.<FindConsumer, ConsumerGateway>ask(
                          node, replyTo -> new FindConsumer(worker, replyTo), QUERY_TIMEOUT, system.scheduler()))
              .toList();
      for (CompletionStage<ConsumerGateway> answer : asked) {
        String gateway = gateway(answer);
        if (!gateway.isEmpty()) {
          return gateway;
        }
      }
    } catch (CompletionException late) {
      LOG.info("the other nodes were not found in time: {}", late.getMessage());
    }
    return null;
  }

  private static String gateway(CompletionStage<ConsumerGateway> answer) {
    try {
      return answer.toCompletableFuture().join().gateway();
    } catch (CompletionException late) {
      // A node that is on its way out; another may know.
      return "";
    }
  }

  @Override
  public void close() {
    http.close();
  }
}
