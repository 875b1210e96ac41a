package io.kvasir.app.node;

import ch.qos.logback.classic.LoggerContext;
import io.kvasir.app.config.BuildVersion;
import io.kvasir.app.config.EffectiveSettings;
import io.kvasir.app.config.KvasirConfig.ScalingConfig;
import io.kvasir.app.neighbours.Neighbours;
import io.kvasir.app.neighbours.NodeDescriber;
import io.kvasir.app.neighbours.NodeTrust;
import io.kvasir.app.neighbours.NodesAdmin;
import io.kvasir.gateway.admin.AdminApi;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.CacheHandler;
import io.kvasir.gateway.admin.ConfigHandler.Setting;
import io.kvasir.gateway.admin.ConfigHandler;
import io.kvasir.gateway.admin.DecisionsHandler;
import io.kvasir.gateway.admin.DemoHandler;
import io.kvasir.gateway.admin.ExplainHandler;
import io.kvasir.gateway.admin.ExternalMetricsHandler;
import io.kvasir.gateway.admin.FleetHandler;
import io.kvasir.gateway.admin.KeysHandler;
import io.kvasir.gateway.admin.LimitsHandler;
import io.kvasir.gateway.admin.LogHandler;
import io.kvasir.gateway.admin.OpenApiHandler;
import io.kvasir.gateway.admin.PrefixesHandler;
import io.kvasir.gateway.admin.ProfilesHandler;
import io.kvasir.gateway.admin.SessionHandler;
import io.kvasir.gateway.admin.tenants.TenantReport;
import io.kvasir.kubernetes.KubernetesConnection;
import io.kvasir.kubernetes.PathReviews;
import io.kvasir.peer.PeerConnections;
import io.kvasir.scale.keda.ExternalScaler;
import io.kvasir.telemetry.AuditLog;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.time.NanoClock;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The administration of a node: what operators ask it, change in it and watch, and the port for that. The node's
 * resources own all of it. Thread-safe.
 */
final class Administration {
  private final NodeServices node;
  private final FrontDoor front;
  private final DemoHandler demo;
  private final AdminApi api;
  private final ManagementServer server;
  private final @Nullable ScaleAssembly scale;

  /**
   * Opens the management port.
   *
   * @param peers lines of other nodes
   * @param demo the switch of traffic of the node's own
   * @throws StartException when a port is taken or a file cannot be used; the message has the reason and the remedy
   */
  Administration(
      NodeServices node,
      RoutingAssembly routing,
      ProfileReloader reloader,
      DecisionLog decisions,
      PeerConnections peers,
      FrontDoor front,
      DemoHandler demo)
      throws StartException {
    this.node = node;
    this.front = front;
    this.demo = demo;
    this.scale = scale(routing);
    AuditLog audit = audit();
    LiveAdministration live =
        new LiveAdministration(
            node.system(),
            node.metrics(),
            node.cells(),
            node.fleet(),
            node.readiness()::problems,
            () -> TenantReport.ofNode(front.gateway().tenants().figures(), front.limiter().statuses()));
    List<AdminResource> parts = new ArrayList<>(live.resources());
    parts.add(
        new FleetHandler(
            node.pods(), node.fleet(), live.cluster(), node.config().fleet().podDefaults(), node.survey()));
    parts.add(new LogHandler(audit, node.fleet()));
    parts.add(new ExplainHandler(front.gateway()::explain));
    parts.add(new ProfilesHandler(reloader, live.profileFigures()));
    parts.add(new PrefixesHandler(front.gateway().chains(), node.cells(), node.fleet()));
    parts.add(demo);
    parts.add(new NodesAdmin(neighbours(reloader, peers)));
    addState(parts, routing, reloader, decisions);
    this.api =
        new AdminApi(node.config().operations().management().keys(), List.copyOf(parts), audit, node.metrics());
    this.server =
        node.resources().own(
            new ManagementServer(
                node.system(), node.config().operations().management(), node.tls().management(), metrics(),
                node.readiness(), api));
    node.resources().own(live);
  }

  /** What is asked of it. */
  AdminApi api() {
    return api;
  }

  /** Where its port is. */
  ListenerAddress address() {
    return new ListenerAddress(server.address(), node.tls().management() != null);
  }

  private MetricsPage metrics() {
    KubernetesConnection reviewer = node.config().operations().management().metricsReviewer();
    if (reviewer == null) {
      return new MetricsPage(node.metrics(), null);
    }
    PathReviews reviews = new PathReviews(reviewer, MetricsPage.PATH, node.metrics());
    node.readiness().degradation(() -> reviews.problem().stream().toList());
    return new MetricsPage(node.metrics(), reviews);
  }

  /** Where KEDA reaches the node, null where it does not. */
  @Nullable ExternalScaler scaler() {
    return scale == null ? null : scale.scaler();
  }

  private @Nullable ScaleAssembly scale(RoutingAssembly routing) throws StartException {
    ScalingConfig config = node.config().scaling();
    return config.advice().enabled()
        ? node.resources().own(
            new ScaleAssembly(config, node.system(), node.cells(), node.fleet(), routing.costs(), node.metrics()))
        : null;
  }

  private AuditLog audit() {
    AuditLog audit =
        node.resources().own(
            new AuditLog(node.config().operations().audit(), node.metrics(), NanoClock.SYSTEM));
    node.readiness().degradation(audit::problems);
    return audit;
  }

  private void addState(
      List<AdminResource> parts, RoutingAssembly routing, ProfileReloader reloader, DecisionLog decisions) {
    ExternalMetricsBroadcast broadcast = new ExternalMetricsBroadcast(node.system(), routing.externalMetrics());
    parts.add(new ExternalMetricsHandler(routing.externalMetrics(), broadcast::publish));
    parts.add(new DecisionsHandler(decisions));
    parts.add(new CacheHandler(front.answers()));
    parts.add(new KeysHandler(front.access().administration(), InstantSource.system()));
    parts.add(new LimitsHandler(front.limiter()));
    parts.add(new ConfigHandler(settings(reloader)));
    parts.add(new LogLevelsAdmin((LoggerContext) LoggerFactory.getILoggerFactory()));
    parts.add(new LmCacheAdmin(routing.lmcache()));
    parts.add(new ScaleAdmin(scale == null ? null : scale::report));
    parts.add(new SessionHandler(demo));
    parts.add(new OpenApiHandler());
  }

  private Supplier<List<Setting>> settings(ProfileReloader reloader) {
    return () -> EffectiveSettings.of(node.config().source().platform(), reloader.readFrom());
  }

  /** Tells the other nodes what this one is, and asks them. */
  private Neighbours neighbours(ProfileReloader reloader, PeerConnections peers) throws StartException {
    Address self = Cluster.get(node.system()).selfMember().address();
    NodeDescriber.Ports ports =
        new NodeDescriber.Ports(
            self.getPort().orElse(0), peers.port(), node.config().operations().management().port(),
            front.address().socket().getPort());
    NodeDescriber describer =
        new NodeDescriber(
            node.config(), Objects.requireNonNullElse(BuildVersion.ofBuild(), "development"),
            self.getHost().orElse(""), ports, settings(reloader));
    return new Neighbours(
        node.system(),
        new NodeTrust(NodeTls.of(node.system()), node.tls().contactPoints(), node.tls().gateways()), describer);
  }
}
