package io.kvasir.app.node;

import io.kvasir.answers.AnswerCache;
import io.kvasir.app.config.EffectiveSettings;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.FleetConfig;
import io.kvasir.app.config.KvasirConfig.GatewayConfig;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import io.kvasir.app.membership.Membership;
import io.kvasir.cell.Cells;
import io.kvasir.cell.client.CellsWiring;
import io.kvasir.discovery.Discovery;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.gateway.CorsHandler;
import io.kvasir.gateway.Gateway;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.gateway.GatewaySettings;
import io.kvasir.gateway.admin.AdminApi;
import io.kvasir.gateway.admin.CacheHandler;
import io.kvasir.gateway.admin.ConfigHandler;
import io.kvasir.gateway.admin.DecisionsHandler;
import io.kvasir.gateway.admin.ExternalMetricsHandler;
import io.kvasir.gateway.admin.FleetHandler;
import io.kvasir.gateway.admin.KeysHandler;
import io.kvasir.gateway.admin.LimitsHandler;
import io.kvasir.gateway.admin.OpenApiHandler;
import io.kvasir.gateway.admin.ProfilesHandler;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.HttpServer;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.http.server.ListenerTls;
import io.kvasir.limits.Limiter;
import io.kvasir.limits.LimitsWiring;
import io.kvasir.lmcache.LmCache;
import io.kvasir.peer.PeerConnections;
import io.kvasir.telemetry.AccessLog;
import io.kvasir.telemetry.AuditLog;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.LogFileSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.InstantSource;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
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
  /** Closed when the gateway has drained. */
  private final Resources resources = new Resources();

  /** Closed last: cells decide for other nodes until they have left. */
  private final Resources cellResources = new Resources();

  private final Readiness readiness = new Readiness();
  private final NodeShutdown shutdown = new NodeShutdown();
  private final Metrics metrics = new Metrics(new PrometheusRegistry()).withJvm();
  private final KvasirConfig config;
  private final TlsContexts tls;
  private final ActorSystem<Void> system;
  private final Cells cells;
  private final Membership membership;
  private final HttpServer gateway;
  private final AdminApi admin;
  private final ManagementServer management;

  /**
   * Starts a node; what had been started is stopped again when something cannot be.
   *
   * @throws StartException when a port is taken or a model cannot be loaded; the message has the reason and the remedy
   */
  public Node(KvasirConfig config) throws StartException {
    this.config = config;
    this.tls = TlsContexts.of(config);
    RoutingAssembly routing = new RoutingAssembly(config);
    this.system = system(routing);
    this.membership = new Membership(system, metrics);
    try {
      DecisionLog decisions = cellResources.own(new DecisionLog(config.operations().decisions(), metrics));
      EventStreams events = cellResources.own(new EventStreams(metrics));
      readiness.degradation(events::degraded);
      this.cells = cells(routing, events, decisions);
      startRouting(routing);
      ServedModels models = resources.own(new ServedModels(
              config.prompts(), cells, tls.pods(), config.fleet().podKeys(), metrics, readiness));
      Dispatcher dispatcher = dispatcher(routing.lmcache());
      AnswerCache answers = answers();
      AccessAssembly access =
          resources.own(
              new AccessAssembly(
                  config.gateway().access(), system, NodeSystem.isAlone(config), membership::isCutOff, metrics));
      access.register(readiness);
      Limiter limiter = limiter();
      PushForwarder forwarder = resources.own(new PushForwarder(system, tls.gateways(), NanoClock.SYSTEM));
      Gateway handler =
          resources.own(
              new Gateway(
                  new GatewayAccess(
                      access.authenticator(), config.gateway().access().salts(), limiter, accessLog()),
                  models.prompts(),
                  routing.profiles(),
                  cells,
                  dispatcher,
                  events.push(),
                  forwarder,
                  answers,
                  gatewaySettings(),
                  metrics,
                  NanoClock.SYSTEM));
      Set<String> origins = config.gateway().corsOrigins();
      this.gateway = resources.own(listener(origins.isEmpty() ? handler : new CorsHandler(handler, origins)));
      forwarder.announce(addressForNodes(), events.push()::accepts);
      ProfileReloader reloader = resources.own(new ProfileReloader(config, routing, metrics, System::nanoTime));
      this.admin = admin(routing, reloader, answers, decisions, access, limiter);
      report(reloader, discovery());
      this.management = resources.own(
          new ManagementServer(
              system, config.operations().management(), tls.management(), metrics, readiness, admin));
      if (config.cluster().discovery() != NodeDiscovery.SEEDS) {
        findOtherNodes();
      }
    } catch (StartException | RuntimeException failed) {
      resources.close();
      close();
      cellResources.close();
      throw failed;
    }
    shutdown.schedule(system, config.gateway(), gateway, resources, cellResources);
  }

  /** The address the gateway listens on. */
  public InetSocketAddress gateway() {
    return gateway.address();
  }

  /** The address the management port listens on. */
  public InetSocketAddress management() {
    return management.address();
  }

  /** The gateway's address for clients on this machine. */
  public URI gatewayUrl() {
    return url(scheme(tls.listener()), gateway.address());
  }

  /** The management port's address for clients on this machine. */
  public URI managementUrl() {
    return url(scheme(tls.management()), management.address());
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

  private Cells cells(RoutingAssembly routing, EventStreams events, DecisionLog decisions) throws StartException {
    FleetConfig fleet = config.fleet();
    return CellsWiring.start(
        system,
        fleet.cell(),
        config.cluster().partitionPolicy(),
        new LinkedHashSet<>(fleet.pods()),
        routing.profileSet(metrics),
        events,
        cellResources.own(new HttpProbe(fleet.probeTimeout(), tls.pods(), fleet.podKeys())),
        metrics,
        peerConnections(),
        decisions);
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
    routing.start(cells::workerIds, metrics, readiness);
  }

  private Dispatcher dispatcher(@Nullable LmCache lmcache) {
    PodClient.Settings pods = config.execution().pods().withKeys(config.fleet().podKeys());
    return resources.own(
        new Dispatcher(
            system,
            cells,
            resources.own(
                new PodClient(tls.pods() == null ? pods : pods.withTls(tls.pods()), metrics, NanoClock.SYSTEM)),
            config.execution().requests(),
            PreprocessingStep.builtIn(),
            lmcache == null ? Warmup.NONE : new LmCacheWarmup(lmcache),
            metrics));
  }

  /** Contacts other nodes' management ports, and is contacted at its own, which is bound. */
  private void findOtherNodes() {
    if (tls.contactPoints() != null) {
      // The platform's client of contact points takes no other TLS; nothing else here uses that client.
      Http.get(system).setDefaultClientHttpsContext(ConnectionContext.httpsClient(tls.contactPoints()));
    }
    ClusterBootstrap.get(system).start();
  }

  private @Nullable AnswerCache answers() throws StartException {
    if (config.execution().answers() == null) {
      return null;
    }
    try {
      AnswerCache answers =
          resources.own(new AnswerCache(config.execution().answers(), InstantSource.system(), metrics));
      readiness.degradation(answers::degraded);
      return answers;
    } catch (IOException unusable) {
      throw new StartException("the response cache cannot start: " + unusable.getMessage(), unusable);
    }
  }

  private AuditLog audit() {
    AuditLog audit = resources.own(new AuditLog(config.operations().audit(), metrics));
    readiness.degradation(audit::degraded);
    return audit;
  }

  private AccessLog accessLog() {
    LogFileSettings file = config.operations().accessLog();
    return file == null ? AccessLog.off() : resources.own(AccessLog.to(file, InstantSource.system(), metrics));
  }

  private GatewaySettings gatewaySettings() {
    GatewayConfig settings = config.gateway();
    return new GatewaySettings(
        scheme(tls.listener()), settings.usageInjection(), settings.keepAlive(), GatewaySettings.STORED_RESPONSES,
        settings.forwarding());
  }

  private static String scheme(@Nullable ListenerTls listener) {
    return listener == null ? "http" : "https";
  }

  private Limiter limiter() {
    Limiter limiter =
        LimitsWiring.start(
            system, config.gateway().access().limits(), metrics, NanoClock.SYSTEM, InstantSource.system());
    readiness.degradation(limiter::degraded);
    return limiter;
  }

  private HttpServer listener(HttpHandler handler) throws StartException {
    HttpSettings settings = config.gateway().http();
    ListenerTls listener = tls.listener();
    try {
      HttpSettings served = listener == null ? settings : settings.withTls(listener);
      return HttpServer.start(system, served, handler, metrics, NanoClock.SYSTEM);
    } catch (IOException taken) {
      throw new StartException(
          "the gateway cannot listen: " + taken.getMessage() + "; set kvasir.gateway.port to a free one", taken);
    }
  }

  /** The gateway's address for other nodes. */
  private String addressForNodes() {
    String host = config.source().platform().getString("pekko.remote.artery.canonical.hostname");
    return scheme(tls.listener()) + "://" + host + ":" + gateway.address().getPort();
  }

  private static URI url(String scheme, InetSocketAddress listener) {
    InetAddress address = listener.getAddress();
    String host =
        address == null || address.isAnyLocalAddress() ? "localhost"
            : address instanceof Inet6Address ? "[" + address.getHostAddress() + "]"
            : address.getHostAddress();
    return URI.create(scheme + "://" + host + ":" + listener.getPort());
  }

  private Discovery discovery() {
    FleetConfig fleet = config.fleet();
    return new Discovery(system, fleet.discovery(), fleet.podsReader(), cells, metrics);
  }

  private AdminApi admin(
      RoutingAssembly routing,
      ProfileReloader reloader,
      @Nullable AnswerCache answers,
      DecisionLog decisions,
      AccessAssembly access,
      Limiter limiter) {
    ExternalMetricsBroadcast broadcast = new ExternalMetricsBroadcast(system, routing.externalMetrics());
    return new AdminApi(
        config.operations().management().keys(),
        List.of(
            new FleetHandler(cells, config.fleet().podDefaults()),
            new ProfilesHandler(reloader),
            new ExternalMetricsHandler(routing.externalMetrics(), broadcast::publish),
            new DecisionsHandler(decisions),
            new CacheHandler(answers),
            new KeysHandler(access.administration(), InstantSource.system()),
            new LimitsHandler(limiter),
            new ConfigHandler(() -> EffectiveSettings.of(config.source().platform(), reloader.readFrom())),
            new LmCacheAdmin(routing.lmcache()),
            new OpenApiHandler()),
        audit(),
        metrics);
  }

  /** Makes the node's state visible at {@code /ready}. */
  private void report(ProfileReloader reloader, Discovery discovery) {
    new ClusterReadiness(system, cells, membership, config.cluster().partitionPolicy()).register(readiness);
    shutdown.register(readiness);
    readiness.degradation(discovery::degraded);
    readiness.degradation(() -> reloader.degraded().stream().toList());
  }
}
