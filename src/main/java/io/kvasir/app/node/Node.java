package io.kvasir.app.node;

import io.kvasir.answers.AnswerCache;
import io.kvasir.app.config.EffectiveSettings;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import io.kvasir.app.config.KvasirConfig.RoutingConfig;
import io.kvasir.app.membership.Membership;
import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.client.ClusterCells;
import io.kvasir.discovery.Discovery;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.workflow.Dispatcher;
import io.kvasir.gateway.Gateway;
import io.kvasir.gateway.GatewaySettings;
import io.kvasir.gateway.admin.AdminApi;
import io.kvasir.gateway.admin.CacheHandler;
import io.kvasir.gateway.admin.ConfigHandler;
import io.kvasir.gateway.admin.DecisionsHandler;
import io.kvasir.gateway.admin.ExternalMetricsHandler;
import io.kvasir.gateway.admin.FleetHandler;
import io.kvasir.gateway.admin.OpenApiHandler;
import io.kvasir.gateway.admin.ProfilesHandler;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.HttpServer;
import io.kvasir.lmcache.LmCache;
import io.kvasir.peer.PeerConnections;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.semantic.SemanticClusters;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.apache.pekko.Done;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.management.cluster.bootstrap.ClusterBootstrap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A router node: every room wired to the others. Closing it drains the front door and leaves the cluster. */
public final class Node implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Node.class);

  private final Deque<AutoCloseable> resources = new ArrayDeque<>();

  /** What cells need to the end: they decide for other nodes until they have left. */
  private final Deque<AutoCloseable> cellResources = new ArrayDeque<>();

  private final Readiness readiness = new Readiness();
  private final Metrics metrics = new Metrics(new PrometheusRegistry()).withJvm();
  private final ActorSystem<Void> system;
  private final Cells cells;
  private final Membership membership;
  private final HttpServer gateway;
  private final AdminApi admin;
  private final ManagementServer management;
  private volatile boolean stopping;

  /**
   * Starts a node; what had been started is stopped again when something cannot be.
   *
   * @throws StartException when a port is taken or a model cannot be loaded; says which and what to do
   */
  public Node(KvasirConfig config) throws StartException {
    warnOfUnknownEngines(config);
    RoutingConfig routing = config.routing();
    try {
      this.system = NodeSystem.start(config);
    } catch (StartException failed) {
      close(routing.jars());
      throw failed;
    }
    // Plugins decide for other nodes until the cells have left.
    var _ = system.getWhenTerminated().thenRun(() -> close(routing.jars()));
    this.membership = new Membership(system, metrics);
    try {
      LiveProfiles profiles = new LiveProfiles(routing.validProfiles());
      RoutingMetrics routingMetrics = new RoutingMetrics(metrics);
      routingMetrics.watch(routing.costs());
      DecisionLog decisions = ownForCells(new DecisionLog(config.decisions(), metrics));
      EventStreams events = ownForCells(new EventStreams(metrics));
      HttpProbe probe = ownForCells(new HttpProbe(config.probeTimeout()));
      this.cells =
          new ClusterCells(
              system,
              config.cell(),
              config.partitionPolicy(),
              new LinkedHashSet<>(config.pods()),
              new ProfileSet(profiles, routing.costs(), routing.outputs(), routingMetrics),
              events,
              probe,
              metrics,
              lines(config),
              decisions);
      LmCache lmcache = routing.lmcache();
      if (lmcache != null) {
        ownForCells(lmcache)
            .start(cells::workerIds, () -> asksCacheLayer(profiles.current()), routing.costs(), metrics);
        readiness.degradation(lmcache::degraded);
      }
      PodClient pods = own(new PodClient(config.podClient(), metrics));
      ServedModels models = own(new ServedModels(config, cells, metrics, readiness));
      Dispatcher dispatcher =
          own(
              new Dispatcher(
                  system,
                  cells,
                  pods,
                  config.execution(),
                  PreprocessingStep.builtIn(),
                  lmcache == null ? Warmup.NONE : new LmCacheWarmup(lmcache),
                  metrics));
      SemanticClusters clusters = own(routing.clusters());
      clusters.start(metrics);
      readiness.degradation(clusters::degraded);
      AnswerCache answers = answers(config);
      GatewaySettings settings = GatewaySettings.defaults().withKeepAlive(config.keepAlive());
      Gateway handler = own(new Gateway(models.prompts(), profiles, cells, dispatcher, answers, settings, metrics));
      PushForwarder homes = own(new PushForwarder(system));
      this.gateway = own(front(system, config, new PushHandler(handler, events.push(), homes, cells)));
      homes.announce(address(config), events.push()::accepts);
      new ClusterReadiness(system, cells, membership, config.partitionPolicy()).register(readiness);
      readiness.obstacle(() -> stopping ? Optional.of("the node is stopping") : Optional.empty());
      Discovery discovery = new Discovery(system, config.podDiscovery(), config.podsReader(), cells, metrics);
      readiness.degradation(discovery::degraded);
      ProfileReloader reload = own(new ProfileReloader(config, profiles, metrics, System::nanoTime));
      readiness.degradation(() -> reload.degraded().stream().toList());
      this.admin =
          new AdminApi(
              config.management().keys(),
              List.of(
                  new FleetHandler(cells, config.podDefaults()),
                  new ProfilesHandler(reload),
                  new ExternalMetricsHandler(routing.externalMetrics(),
                      new ExternalMetricsBroadcast(system, routing.externalMetrics())::publish),
                  new DecisionsHandler(decisions),
                  new CacheHandler(answers),
                  new ConfigHandler(() -> EffectiveSettings.of(config.platform(), reload.readFrom())),
                  new LmCacheAdmin(lmcache),
                  new OpenApiHandler()),
              metrics);
      this.management = own(new ManagementServer(system, config.management().endpoint(), metrics, readiness, admin));
      if (config.discovery() != NodeDiscovery.SEEDS) {
        // Once the management port answers: the other nodes ask it.
        ClusterBootstrap.get(system).start();
      }
    } catch (StartException | RuntimeException failed) {
      close(resources);
      close();
      close(cellResources);
      throw failed;
    }
    stopInOrder(config);
  }

  public InetSocketAddress gateway() {
    return gateway.address();
  }

  public InetSocketAddress management() {
    return management.address();
  }

  public AdminApi admin() {
    return admin;
  }

  public Cells cells() {
    return cells;
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
   * Completes when the others, who had taken this node out of the cluster, can be reached again: a new node has to be
   * started in its place.
   */
  public CompletionStage<Done> whenRejoinable() {
    return membership.whenRejoinable();
  }

  /** Completes when the node has stopped, whoever wanted that. */
  CompletionStage<Done> whenStopped() {
    return system.getWhenTerminated();
  }

  /** What is the node's own ends before its part in the cluster does: streams need decisions and reservations. */
  private void stopInOrder(KvasirConfig config) {
    CoordinatedShutdown shutdown = CoordinatedShutdown.get(system);
    shutdown.addTask(
        CoordinatedShutdown.PhaseBeforeServiceUnbind(),
        "kvasir-not-ready",
        () -> inBackground(() -> announceStop(config.drainDelay())));
    shutdown.addTask(
        CoordinatedShutdown.PhaseServiceRequestsDone(),
        "kvasir-drain",
        () -> inBackground(() -> gateway.drain(config.drainTimeout())));
    shutdown.addTask(
        CoordinatedShutdown.PhaseServiceStop(), "kvasir-rooms", () -> inBackground(() -> close(resources)));
    shutdown.addTask(
        CoordinatedShutdown.PhaseBeforeActorSystemTerminate(),
        "kvasir-rooms-of-cells",
        () -> inBackground(() -> close(cellResources)));
  }

  private void announceStop(@Nullable Duration delay) {
    stopping = true;
    if (delay != null) {
      try {
        Thread.sleep(delay);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static CompletionStage<Done> inBackground(Runnable step) {
    return CompletableFuture.runAsync(step, task -> Thread.ofVirtual().start(task)).thenApply(_ -> Done.getInstance());
  }

  /** A name nobody knows is no fault, for there are more engines than coefficients, but may be a slip. */
  private static void warnOfUnknownEngines(KvasirConfig config) {
    for (PodSpec pod : config.pods()) {
      if (!config.routing().costs().hasCoefficients(pod.engine())) {
        LOG.warn(
            "pod {}: no latency coefficients are known by the name '{}'; a middling engine's are used",
            pod.name(),
            pod.engine());
      }
    }
  }

  private static boolean asksCacheLayer(Profiles profiles) {
    ProfileChoice choice = profiles.choice();
    return Stream.of(List.of(choice.standard()), choice.models().values(), choice.tenants().values())
        .flatMap(Collection::stream)
        .map(profiles::named)
        .anyMatch(profile -> profile != null && BuiltInPlugins.useCacheLayer(profile));
  }

  private @Nullable AnswerCache answers(KvasirConfig config) throws StartException {
    if (config.answers() == null) {
      return null;
    }
    try {
      AnswerCache answers = own(new AnswerCache(config.answers(), InstantSource.system(), metrics));
      readiness.degradation(answers::degraded);
      return answers;
    } catch (IOException unusable) {
      throw new StartException("the response cache cannot start: " + unusable.getMessage(), unusable);
    }
  }

  private PeerConnections lines(KvasirConfig config) throws StartException {
    try {
      return PeerConnections.bind(config.peerSettings(), NodeTls.of(system));
    } catch (IOException taken) {
      throw new StartException(
          "other nodes cannot ask this one: " + taken.getMessage()
              + "; see kvasir.cluster.line-port and line-bind-port",
          taken);
    }
  }

  /** Where other nodes reach this one's gateway. */
  private String address(KvasirConfig config) {
    String host = config.platform().getString("pekko.remote.artery.canonical.hostname");
    return "http://" + host + ":" + gateway.address().getPort();
  }

  private HttpServer front(ActorSystem<Void> system, KvasirConfig config, HttpHandler handler)
      throws StartException {
    try {
      return HttpServer.start(system, config.gateway(), handler, metrics);
    } catch (IOException taken) {
      throw new StartException(
          "the gateway cannot listen: " + taken.getMessage() + "; set kvasir.gateway.port to a free one", taken);
    }
  }

  private <T extends AutoCloseable> T own(T part) {
    resources.push(part);
    return part;
  }

  private <T extends AutoCloseable> T ownForCells(T part) {
    cellResources.push(part);
    return part;
  }

  private static void close(Deque<AutoCloseable> parts) {
    while (!parts.isEmpty()) {
      close(parts.pop());
    }
  }

  private static void close(AutoCloseable part) {
    try {
      part.close();
    } catch (Exception failed) {
      LOG.warn("{} did not close well", part, failed);
    }
  }
}
