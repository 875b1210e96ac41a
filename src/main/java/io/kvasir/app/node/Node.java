package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.FleetConfig;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import io.kvasir.app.membership.Membership;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Cells;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.client.CellsWiring;
import io.kvasir.cell.client.NodeCells;
import io.kvasir.discovery.Discovery;
import io.kvasir.gateway.admin.AdminApi;
import io.kvasir.gateway.admin.DemoHandler;
import io.kvasir.llmd.LlmdMetrics;
import io.kvasir.peer.PeerConnections;
import io.kvasir.picker.EndpointPicker;
import io.kvasir.pools.LivePools;
import io.kvasir.prompt.Prompts;
import io.kvasir.scale.keda.ExternalScaler;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.Done;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.http.javadsl.ConnectionContext;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.management.cluster.bootstrap.ClusterBootstrap;
import org.jspecify.annotations.Nullable;

/**
 * A router node: the wiring of every package to the others. The constructor builds from the inside out: routing, the
 * actor system, cells, execution, the gateway, management. Closing drains the gateway and leaves the cluster.
 */
public final class Node implements AutoCloseable {
  private static final Duration SURVEY_TIMEOUT = Duration.ofSeconds(5);

  /** Closed when the gateway has drained. */
  private final Resources resources = new Resources();

  /** Closed last: cells decide for other nodes until they have left. */
  private final Resources cellResources = new Resources();

  private final Readiness readiness = new Readiness();
  private final NodeShutdown shutdown = new NodeShutdown();
  private final DemoHandler demo = new DemoHandler();
  private final Metrics metrics;
  private final KvasirConfig config;
  private final TlsContexts tls;
  private final ActorSystem<Void> system;
  private final PeerConnections peers;
  private final NodeCells cells;
  private final Membership membership;
  private final LivePools pools = new LivePools();
  private final FrontDoor front;
  private final Administration administration;

  /**
   * Starts a node; what had been started is stopped again when something cannot be.
   *
   * @throws StartException when a port is taken or a model cannot be loaded; the message has the reason and the remedy
   */
  public Node(KvasirConfig config) throws StartException {
    this(config, WarmUp.NONE);
  }

  /** The same, with its metrics in a registry of the caller's, in which no other node's are. */
  public Node(KvasirConfig config, PrometheusRegistry registry) throws StartException {
    this(config, WarmUp.NONE, registry);
  }

  /** The same; it is not ready before the warm-up is over, which begins when the models are loaded. */
  Node(KvasirConfig config, WarmUp warmUp) throws StartException {
    this(config, warmUp, new PrometheusRegistry());
  }

  private Node(KvasirConfig config, WarmUp warmUp, PrometheusRegistry registry) throws StartException {
    this.config = config;
    this.metrics = new Metrics(registry).withJvm();
    if (config.operations().management().llmdMetrics()) {
      metrics.derive(LlmdMetrics::of);
    }
    readiness.obstacle(warmUp::obstacle);
    this.tls = TlsContexts.of(config);
    RoutingAssembly routing = new RoutingAssembly(config);
    this.system = system(routing);
    this.membership = new Membership(system, discovers(), metrics);
    try {
      DecisionLog decisions = cellResources.own(new DecisionLog(config.operations().decisions(), metrics));
      readiness.degradation(decisions::problems);
      EventStreams events = cellResources.own(new EventStreams(metrics));
      readiness.degradation(events::problems);
      this.peers = peerConnections();
      this.cells = cells(routing, events, decisions);
      startRouting(routing);
      PodSurvey survey =
          resources.own(
              new PodSurvey(SURVEY_TIMEOUT, tls.pods(), config.fleet(), cells.pods()::all));
      ServedModels models = resources.own(new ServedModels(
              config.prompts(), cells, tls.pods(), config.fleet().podKeys(), survey, metrics,
              readiness));
      resources.own(warmUp).begin(warmUpWith(models.prompts()));
      NodeServices services =
          new NodeServices(
              config, tls, system, membership, cells.cells(), cells.pods(), cells.fleet(), survey, metrics, readiness,
              resources);
      this.front = new FrontDoor(services, routing, events, models.prompts(), pools);
      ProfileReloader reloader = resources.own(new ProfileReloader(config, routing, metrics, System::nanoTime));
      report(reloader, discovery(survey));
      this.administration = new Administration(services, routing, reloader, decisions, peers, front, demo);
      if (discovers()) {
        findOtherNodes();
      }
    } catch (StartException | RuntimeException failed) {
      resources.close();
      close();
      cellResources.close();
      throw failed;
    }
    shutdown.schedule(system, config.gateway(), front.listener(), front.picker(), resources, cellResources);
  }

  /** Requests to a gateway of its own and, at the same time, questions to other nodes. */
  private WarmUp.Workload warmUpWith(Prompts prompts) {
    return (opened, limit) -> {
      opened.own(HomesWarmUp.begin(cells.cells(), limit));
      new WarmUpGateway(config, system, prompts).exercise(opened, limit);
    };
  }

  /** The address the gateway listens on. */
  public InetSocketAddress gateway() {
    return front.address().socket();
  }

  /** The address the management port listens on. */
  public InetSocketAddress management() {
    return administration.address().socket();
  }

  /** The gateway's address for clients on this machine. */
  public URI gatewayUrl() {
    return front.address().local();
  }

  /** The management port's address for clients on this machine. */
  public URI managementUrl() {
    return administration.address().local();
  }

  /** The endpoint picker, null where there is none. */
  public @Nullable EndpointPicker picker() {
    return front.picker();
  }

  /** The server for KEDA, null where there is none. */
  public @Nullable ExternalScaler scaler() {
    return administration.scaler();
  }

  /** The switch of traffic of the node's own, which only a demo has. */
  public DemoHandler demo() {
    return demo;
  }

  public AdminApi admin() {
    return administration.api();
  }

  public Cells cells() {
    return cells.cells();
  }

  public FleetDescription fleet() {
    return cells.fleet();
  }

  public Metrics metrics() {
    return metrics;
  }

  public Readiness readiness() {
    return readiness;
  }

  /**
   * Turns readiness off, lets streams finish within the drain timeout, hands cells over, leaves the cluster and ends.
   * Waits until all of it is done.
   */
  @Override
  public void close() {
    CoordinatedShutdown.get(system).runAll(CoordinatedShutdown.jvmExitReason()).toCompletableFuture().join();
  }

  /**
   * Completes when the other nodes, which had removed this one from the cluster, can be reached again: a new node has
   * to be started in its place.
   */
  public CompletionStage<Done> whenRejoinable() {
    return membership.whenRejoinable();
  }

  /** Completes when the node has stopped, for whatever reason. */
  CompletionStage<Done> whenStopped() {
    return system.getWhenTerminated();
  }

  /** The actor system. Plugins decide for other nodes until it has ended, so their jars are closed after it. */
  private ActorSystem<Void> system(RoutingAssembly routing) throws StartException {
    try {
      ActorSystem<Void> started = NodeSystem.start(config);
      var _ = started.getWhenTerminated().thenRun(routing::close);
      return started;
    } catch (StartException failed) {
      routing.close();
      throw failed;
    }
  }

  private NodeCells cells(RoutingAssembly routing, EventStreams events, DecisionLog decisions) {
    FleetConfig fleet = config.fleet();
    HttpProbe engines = new HttpProbe(fleet.probeTimeout(), tls.pods(), fleet.podKeys());
    return CellsWiring.start(
        system,
        fleet.cell(),
        config.cluster().partitionPolicy(),
        new LinkedHashSet<>(fleet.pods()),
        routing.profileSet(metrics),
        events,
        cellResources.own(new LoadProbe(engines, events, metrics, NanoClock.SYSTEM)),
        engines,
        metrics,
        peers,
        decisions,
        NanoClock.SYSTEM);
  }

  private PeerConnections peerConnections() throws StartException {
    try {
      return PeerConnections.bind(config.cluster().peers(), NodeTls.of(system), NanoClock.SYSTEM);
    } catch (IOException taken) {
      throw new StartException(
          "the port for decisions between nodes cannot be bound: " + taken.getMessage()
              + "; see kvasir.cluster.line-port and line-bind-port",
          taken);
    }
  }

  private void startRouting(RoutingAssembly routing) {
    if (routing.lmcache() != null) {
      cellResources.own(routing.lmcache());
    }
    resources.own(routing.clusters());
    routing.start(cells.cells()::workerIds, metrics, readiness);
  }

  private boolean discovers() {
    return config.cluster().discovery() != NodeDiscovery.SEEDS;
  }

  /** Contacts other nodes' management ports, and is contacted at its own, which is bound. */
  private void findOtherNodes() {
    if (tls.contactPoints() != null) {
      // The platform's client of contact points takes no other TLS; nothing else here uses that client.
      Http.get(system).setDefaultClientHttpsContext(ConnectionContext.httpsClient(tls.contactPoints()));
    }
    ClusterBootstrap.get(system).start();
  }

  private Discovery discovery(PodSurvey survey) {
    FleetConfig fleet = config.fleet();
    Discovery.Readers readers =
        new Discovery.Readers(
            fleet.podsReader(), survey, found -> pools.replace(LivePools.Source.KUBERNETES, found));
    return resources.own(new Discovery(system, fleet.discovery(), readers, cells.pods(), cells.cells(), metrics));
  }

  /** Makes the node's state visible at {@code /ready}. */
  private void report(ProfileReloader reloader, Discovery discovery) {
    CellSettings cell = config.fleet().cell();
    WorkerReadiness workers =
        new WorkerReadiness(
            cells.cells()::workers, WorkerWaits.of(cell.admission(), cell.fromZero()), config.fleet().probeTimeout(),
            NanoClock.SYSTEM);
    new ClusterReadiness(system, workers, cells.fleet(), membership, config.cluster().partitionPolicy())
        .register(readiness);
    shutdown.register(readiness);
    readiness.degradation(discovery::problems);
    if (config.picker() != null) {
      readiness.obstacle(discovery::obstacle);
    }
    readiness.degradation(reloader::problems);
  }
}
