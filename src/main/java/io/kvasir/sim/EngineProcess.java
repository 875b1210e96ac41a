package io.kvasir.sim;

import io.kvasir.sim.api.EncoderCache;
import io.kvasir.sim.api.FaultInjector;
import io.kvasir.sim.api.HttpApi;
import io.kvasir.sim.core.EngineCore;
import io.kvasir.sim.core.EngineMetrics;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.http.SimHttpLimits;
import io.kvasir.sim.http.SimHttpServer;
import io.kvasir.sim.lmcache.CacheEventReporter;
import io.kvasir.sim.lmcache.CoordinatorMember;
import io.kvasir.sim.operations.ControlApi;
import io.kvasir.sim.operations.ControlServer;
import io.kvasir.sim.operations.IdentityPages;
import io.kvasir.sim.operations.LoadPublisher;
import io.kvasir.sim.operations.OperationsApi;
import io.kvasir.sim.publisher.EventPublisher;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.ModelText;
import io.kvasir.sim.text.SyntheticText;
import io.kvasir.sim.text.TokenLogprobs;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** One run of an engine, from its start to its crash: what a process is to a real one. */
final class EngineProcess implements AutoCloseable {
  private static final int MAX_BODY_BYTES = 256 << 20;
  private static final int PORT_TRIES = 50;

  private final SimSettings settings;
  private final List<EventPublisher> publishers;
  private final List<EngineCore> ranks = new ArrayList<>();
  private final TransferAgent transfer;
  private final EncoderCache encoders;
  private final SimHttpServer server;
  private final HttpApi api;
  private final RequestDispatcher dispatcher;
  private final @Nullable CacheEventReporter coordinator;
  private final @Nullable CoordinatorMember member;
  private final @Nullable LoadPublisher load;
  private final @Nullable ControlServer control;

  /**
   * Starts; what had been started is stopped again when something cannot be.
   *
   * @throws IOException naming the port that is taken
   */
  EngineProcess(SimSettings settings, ModelText text, FaultInjector faults, ControlApi controls) throws IOException {
    this.settings = settings;
    SyntheticText syntheticText = new SyntheticText(text);
    EngineMetrics metrics = new EngineMetrics(settings.model().name(), settings.http().api());
    publishers = publishers(settings);
    coordinator = coordinator(settings.kv().hostTier());
    TransferAgent agent = null;
    LoadPublisher loadPublisher = null;
    ControlServer controlServer = null;
    try {
      for (int rank = 0; rank < settings.engine().ranks(); rank++) {
        EventPublisher publisher = settings.kv().events().enabled() ? publishers.get(rank) : null;
        ranks.add(new EngineCore(rank, settings, publisher, coordinator, metrics));
      }
      Integer loadPort = settings.loadPort();
      if (loadPort != null) {
        loadPublisher = new LoadPublisher(settings.kv().events().host(), loadPort, ranks, settings.engine());
      }
      load = loadPublisher;
      Integer grpcPort = settings.http().grpcPort();
      if (grpcPort != null) {
        controlServer = new ControlServer(settings, grpcPort, this::eventsPort, this::replayPort);
      }
      control = controlServer;
      agent =
          new TransferAgent(
              settings.kv().transfer(), settings.role(), settings.http().host(), settings.engine().ranks(),
              settings.engine().blockSize(), ranks.getFirst()::held);
      transfer = agent;
      metrics.registerGauges(ranks, settings, transfer);
      encoders = new EncoderCache(settings.kv().transfer().encoderDirectory());
      dispatcher = new RequestDispatcher(ranks, settings, syntheticText, text.eos(), transfer);
      OperationsApi operations =
          new OperationsApi(
              settings, dispatcher, ranks, metrics, controls,
              new IdentityPages(
                  settings, this::eventsPort, this::replayPort, load == null ? 0 : load.port(), transfer));
      api = new HttpApi(
          settings, text, dispatcher, operations, faults, encoders, new TokenLogprobs(text, syntheticText));
      server =
          new SimHttpServer(
              new InetSocketAddress(settings.http().host(), settings.http().port()),
              new SimHttpLimits(MAX_BODY_BYTES, settings.http().keepAlive()),
              api);
    } catch (IOException e) {
      if (agent != null) {
        agent.close();
      }
      if (loadPublisher != null) {
        loadPublisher.close();
      }
      if (controlServer != null) {
        controlServer.close();
      }
      ranks.forEach(EngineCore::close);
      if (coordinator != null) {
        coordinator.close();
      }
      String port = agent == null ? "" : "port " + settings.http().port() + ": ";
      throw new IOException(port + e.getMessage(), e);
    }
    member = member();
  }

  /** An address that others can connect to, where {@code host} may mean all interfaces. */
  static String reachable(String host) {
    return host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
  }

  private static @Nullable CacheEventReporter coordinator(HostTierSettings host) {
    URI address = host.coordinator();
    return address == null ? null : new CacheEventReporter(address, host.instance());
  }

  private @Nullable CoordinatorMember member() {
    HostTierSettings host = settings.kv().hostTier();
    URI address = host.coordinator();
    return address == null
        ? null
        : new CoordinatorMember(
            address, host.instance(), reachable(settings.http().host()), port(), host.coordinatorHeartbeat());
  }

  int port() {
    return server.port();
  }

  /** Port of vLLM's gRPC; 0 without it. */
  int grpcPort() {
    return control == null ? 0 : control.port();
  }

  TransferAgent transfer() {
    return transfer;
  }

  EncoderCache encoders() {
    return encoders;
  }

  List<EngineCore> ranks() {
    return ranks;
  }

  /** A rank's event port; 0 when it has none. */
  int eventsPort(int rank) {
    return publishers.isEmpty() ? 0 : publishers.get(rank).eventsPort();
  }

  /** A rank's replay port; 0 when it has none. */
  int replayPort(int rank) {
    return publishers.isEmpty() ? 0 : publishers.get(rank).replayPort();
  }

  /** Begins or ends a condition. */
  void setCondition(EngineCondition condition, boolean on) throws IOException {
    switch (condition) {
      case REFUSE -> server.setRefusing(on);
      case WEDGE -> ranks.forEach(rank -> rank.setWedged(on));
      case SLOW -> ranks.forEach(rank -> rank.setSlow(on));
      case DRAIN -> api.setDraining(on);
      case LOSSY -> publishers.forEach(publisher -> publisher.setLossy(on));
      case STORES_ONLY -> ranks.forEach(rank -> rank.setStoresOnly(on));
      case SILENT -> {
        publishers.forEach(publisher -> publisher.setSilent(on));
        if (load != null) {
          load.setSilent(on);
        }
      }
      case GARBLED -> {
        publishers.forEach(publisher -> publisher.setGarbled(on));
        if (load != null) {
          load.setGarbled(on);
        }
      }
      case UNSALTED -> ranks.forEach(rank -> rank.setUnsalted(on));
      case FORGETFUL -> dispatcher.setForgetful(on);
      case UNASKED_USAGE -> api.setUnaskedUsage(on);
      case FAST_CLOCK -> ranks.forEach(rank -> rank.setFastClock(on));
    }
  }

  @Override
  public void close() {
    if (member != null) {
      member.close();
    }
    server.close();
    if (load != null) {
      load.close();
    }
    if (control != null) {
      control.close();
    }
    transfer.close();
    ranks.forEach(EngineCore::close);
    if (coordinator != null) {
      coordinator.close();
    }
  }

  /** The settings of the next run: on the same ports. */
  SimSettings restartSettings() {
    EventSettings events = settings.kv().events();
    if (events.enabled() && events.pub().countsUp()) {
      int pubPort = events.pub().connect() == null ? eventsPort(0) : events.pub().port();
      events = events.withPorts(pubPort, replayPort(0));
    }
    TransferSettings kvTransfer = settings.kv().transfer();
    return settings.withPorts(
        settings.http().withPorts(port(), control == null ? null : control.port()), events,
        kvTransfer.withAddress(transfer.port(), kvTransfer.engineId()),
        load == null ? null : load.port());
  }

  /** One publisher per rank; where neighbouring ports are to be any free ones, tries until all fit. */
  private static List<EventPublisher> publishers(SimSettings settings) throws IOException {
    EventSettings events = settings.kv().events();
    if (!events.enabled()) {
      return List.of();
    }
    boolean anyPort =
        events.pub().countsUp() && settings.engine().ranks() > 1
            && (events.pub().port() == 0 || events.replay().port() == 0);
    for (int tries = 1; ; tries++) {
      int spread = 2 * settings.engine().ranks();
      int free = anyPort ? ThreadLocalRandom.current().nextInt(20_000, 60_000 - spread) : 0;
      List<EventPublisher> made = new ArrayList<>();
      try {
        for (int rank = 0; rank < settings.engine().ranks(); rank++) {
          made.add(publisher(events, rank, free, free == 0 ? 0 : free + settings.engine().ranks()));
        }
        return List.copyOf(made);
      } catch (IOException taken) {
        made.forEach(EventPublisher::close);
        if (!anyPort || tries == PORT_TRIES) {
          throw taken;
        }
      }
    }
  }

  private static EventPublisher publisher(EventSettings events, int rank, int freePort, int freeReplayPort)
      throws IOException {
    int base = events.pub().port() == 0 ? freePort : events.pub().port();
    int replayBase = events.replay().port() == 0 ? freeReplayPort : events.replay().port();
    String connect = events.pub().connect();
    if (connect != null) {
      int colon = connect.lastIndexOf(':');
      connect = connect.substring(0, colon + 1) + (Integer.parseInt(connect.substring(colon + 1)) + rank);
    }
    EventPublisher.Binding binding =
        new EventPublisher.Binding(
            events.host(),
            base == 0 ? 0 : base + rank,
            connect,
            events.replay().enabled(),
            replayBase == 0 ? 0 : replayBase + rank,
            events.topic(),
            events.replay().withTopic(),
            events.replay().bufferSteps(),
            events.replay().snapshots());
    return new EventPublisher(binding, events.format(), rank, "sim-events-" + rank);
  }
}
