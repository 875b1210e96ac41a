package io.kvasir.sim;

import io.kvasir.sim.http.HttpServer;
import io.kvasir.sim.publisher.EventPublisher;
import io.kvasir.sim.transfer.KvTransfer;
import io.kvasir.sim.transfer.TransferStats;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.ZMQException;

/**
 * A running simulated engine. It answers on a real HTTP port as vLLM does, tells of its KV cache on real
 * ZMQ ports as vLLM does, and takes the time its coefficients say. Several may run in one process; they
 * share nothing. {@link #close()} is as sudden as a crash, and the ports are free afterwards: an engine
 * started on them again has an empty cache and counts its events from 0.
 */
public final class SimEngine implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SimEngine.class);
  private static final int MAX_BODY_BYTES = 256 << 20;
  private static final int PORT_TRIES = 50;

  private final SimSettings settings;
  private final List<EventPublisher> publishers;
  private final List<EngineCore> ranks;
  private final FaultInjector faults;
  private final KvTransfer transfer;
  private final HttpServer server;

  private SimEngine(SimSettings settings) throws IOException {
    this.settings = settings;
    ModelText text = new ModelText(settings.modelDirectory());
    Prose prose = new Prose(text);
    EngineMetrics metrics = new EngineMetrics(settings.model(), settings.transfer().dialect());
    faults = new FaultInjector(settings.seed(), settings.faults());
    publishers = publishers(settings);
    ranks = new ArrayList<>();
    for (int rank = 0; rank < settings.ranks(); rank++) {
      EventPublisher publisher = settings.events().enabled() ? publishers.get(rank) : null;
      ranks.add(new EngineCore(rank, settings, publisher, metrics));
    }
    try {
      transfer =
          new KvTransfer(
              settings.transfer(), settings.role(), settings.host(), settings.ranks(), settings.blockSize());
    } catch (IOException e) {
      ranks.forEach(EngineCore::close);
      throw e;
    }
    metrics.show(ranks, settings, transfer);
    Desk desk = new Desk(ranks, settings, prose, text.eos(), transfer);
    Operations operations = new Operations(settings, desk, ranks, metrics);
    HttpApi api = new HttpApi(settings, text, desk, operations, faults);
    try {
      server =
          new HttpServer(
              new InetSocketAddress(settings.host(), settings.port()),
              new HttpServer.Limits(MAX_BODY_BYTES, settings.keepAlive()),
              api);
    } catch (IOException e) {
      transfer.close();
      ranks.forEach(EngineCore::close);
      throw new IOException("port " + settings.port() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Starts an engine; it is ready when this returns.
   *
   * @throws IllegalArgumentException when {@link SimSettings#validate()} finds faults; names them all
   * @throws IOException when a port is taken or the model's files cannot be read
   */
  public static SimEngine start(SimSettings settings) throws IOException {
    List<String> wrong = settings.validate();
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", wrong));
    }
    SimEngine engine = new SimEngine(settings);
    LOG.info("Simulated engine {} serves {} at {}, events at {}", settings.engine(), settings.model(), engine.url(),
        engine.eventsEndpoint());
    return engine;
  }

  /** Where it answers, such as {@code http://127.0.0.1:8000}. */
  public URI url() {
    return URI.create("http://" + reachable(settings.host()) + ":" + server.port());
  }

  /** Rank 0's events, such as {@code tcp://127.0.0.1:5557}; null without events or when its sockets connect. */
  public @Nullable String eventsEndpoint() {
    return eventsEndpoint(0);
  }

  /** A rank's events. */
  public @Nullable String eventsEndpoint(int rank) {
    return publishers.isEmpty() ? null : endpoint(publishers.get(rank).eventsPort());
  }

  /** Where rank 0's last events can be asked for again; null without replay. */
  public @Nullable String replayEndpoint() {
    return replayEndpoint(0);
  }

  /** Where a rank's last events can be asked for again. */
  public @Nullable String replayEndpoint(int rank) {
    return publishers.isEmpty() ? null : endpoint(publishers.get(rank).replayPort());
  }

  /** What it was told to be. */
  public SimSettings settings() {
    return settings;
  }

  /** What it is doing, all ranks together. */
  public EngineStats stats() {
    int running = 0;
    int waiting = 0;
    long queried = 0;
    long hit = 0;
    for (EngineCore rank : ranks) {
      running += rank.running();
      waiting += rank.waiting();
      queried += rank.queriedTokens();
      hit += rank.hitTokens();
    }
    return new EngineStats(running, waiting, queried, hit);
  }

  /** What it has had to do with other engines. */
  public TransferStats transfers() {
    return transfer.stats();
  }

  /** Port of its side channel or bootstrap server; 0 without one. */
  public int transferPort() {
    return transfer.port();
  }

  /** A rank's id towards other engines. */
  public String engineId(int rank) {
    return transfer.engineId(rank);
  }

  /** From the next request on, these things go wrong and no others. */
  public void setFaults(List<Fault> next) {
    faults.set(next);
  }

  @Override
  public void close() {
    server.close();
    transfer.close();
    ranks.forEach(EngineCore::close);
  }

  private @Nullable String endpoint(int port) {
    return port == 0 ? null : "tcp://" + reachable(settings.events().host()) + ":" + port;
  }

  private static String reachable(String host) {
    return host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
  }

  /** One publisher per rank on neighbouring ports; where a port is to be any free one, tries until all fit. */
  private static List<EventPublisher> publishers(SimSettings settings) throws IOException {
    EventSettings events = settings.events();
    if (!events.enabled()) {
      return List.of();
    }
    boolean anyPort = settings.ranks() > 1 && (events.port() == 0 || events.replayPort() == 0);
    for (int tries = 1; ; tries++) {
      int spread = 2 * settings.ranks();
      int free = anyPort ? ThreadLocalRandom.current().nextInt(20_000, 60_000 - spread) : 0;
      List<EventPublisher> made = new ArrayList<>();
      try {
        for (int rank = 0; rank < settings.ranks(); rank++) {
          made.add(publisher(events, rank, free, free == 0 ? 0 : free + settings.ranks()));
        }
        return List.copyOf(made);
      } catch (ZMQException e) {
        made.forEach(EventPublisher::close);
        if (!anyPort || tries == PORT_TRIES) {
          throw new IOException(
              "events: port " + events.port() + " or " + events.replayPort() + " cannot be bound: " + e.getMessage(),
              e);
        }
      }
    }
  }

  private static EventPublisher publisher(EventSettings events, int rank, int freePort, int freeReplayPort) {
    int base = events.port() == 0 ? freePort : events.port();
    int replayBase = events.replayPort() == 0 ? freeReplayPort : events.replayPort();
    String connect = events.connect();
    if (connect != null) {
      int colon = connect.lastIndexOf(':');
      connect = connect.substring(0, colon + 1) + (Integer.parseInt(connect.substring(colon + 1)) + rank);
    }
    EventPublisher.Binding binding =
        new EventPublisher.Binding(
            events.host(),
            base == 0 ? 0 : base + rank,
            connect,
            events.replay(),
            replayBase == 0 ? 0 : replayBase + rank,
            events.topic(),
            events.topicInReplay(),
            events.bufferSteps());
    return new EventPublisher(binding, "sim-events-" + rank);
  }
}
