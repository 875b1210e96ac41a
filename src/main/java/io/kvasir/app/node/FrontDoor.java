package io.kvasir.app.node;

import io.kvasir.answers.AnswerCache;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.GatewayConfig;
import io.kvasir.cell.Cells;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.gateway.CorsHandler;
import io.kvasir.gateway.Gateway;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.gateway.GatewaySettings;
import io.kvasir.gateway.request.PromptConversion;
import io.kvasir.gateway.request.PromptTokenCounter;
import io.kvasir.gateway.request.WebSocketSettings;
import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ConnectionThread;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.HttpServer;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.http.server.ListenerTls;
import io.kvasir.limits.Limiter;
import io.kvasir.limits.LimitsWiring;
import io.kvasir.lmcache.LmCache;
import io.kvasir.locations.StoredResponses;
import io.kvasir.picker.EndpointPicker;
import io.kvasir.picker.PickerSettings;
import io.kvasir.pools.LivePools;
import io.kvasir.programs.ProgramReader;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.telemetry.AccessLog;
import io.kvasir.telemetry.LogFileSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.Tracing;
import io.kvasir.tracing.TracingException;
import java.io.IOException;
import java.time.InstantSource;
import java.util.Set;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The front door of a node: the gateway with what its requests pass (keys, limits, stored answers, traces), its
 * listener and the endpoint picker. The node's resources own all of it. Thread-safe.
 */
final class FrontDoor {
  private static final Logger LOG = LoggerFactory.getLogger(FrontDoor.class);

  private final KvasirConfig config;
  private final TlsContexts tls;
  private final ActorSystem<Void> system;
  private final Cells cells;
  private final Metrics metrics;
  private final Readiness readiness;
  private final Resources resources;
  private final @Nullable AnswerCache answers;
  private final AccessAssembly access;
  private final Limiter limiter;

  /** Reads clients and workers, so that a request can run where both are read. */
  private final ChannelLoop connections;

  private final Gateway gateway;
  private final HttpServer listener;
  private final @Nullable EndpointPicker picker;

  /**
   * Opens a front door.
   *
   * @param pools the pools that are known
   * @throws StartException when a port is taken or a file cannot be used; the message has the reason and the remedy
   */
  FrontDoor(NodeServices node, RoutingAssembly routing, EventStreams events, Prompts prompts, LivePools pools)
      throws StartException {
    this.config = node.config();
    this.tls = node.tls();
    this.system = node.system();
    this.cells = node.cells();
    this.metrics = node.metrics();
    this.readiness = node.readiness();
    this.resources = node.resources();
    if (!ConnectionThread.isSupported()) {
      LOG.warn(
          "requests take more CPU time than need be: the JVM lacks {} of jvm.flags, or is a newer one",
          ConnectionThread.OPENING);
    }
    this.connections = resources.own(new ChannelLoop("kvasir-connections", ChannelLoop.defaultThreads()));
    Dispatcher dispatcher = dispatcher(routing.lmcache(), prompts);
    this.answers = storedAnswers();
    this.access =
        resources.own(
            new AccessAssembly(
                config.gateway().access(), system, NodeSystem.isAlone(config), node.membership()::isCutOff, metrics));
    access.register(readiness);
    this.limiter = startLimiter();
    PushForwarder forwarder = resources.own(new PushForwarder(system, tls.gateways(), NanoClock.SYSTEM));
    this.gateway =
        resources.own(
            new Gateway(
                new GatewayAccess(access.authenticator(), config.gateway().access().salts(), limiter, accessLog()),
                prompts,
                routing.profiles(),
                cells,
                dispatcher,
                events.push(),
                forwarder,
                answers,
                StoredResponses.start(system, metrics),
                gatewaySettings(),
                metrics,
                tracing(),
                NanoClock.SYSTEM));
    Set<String> origins = config.gateway().corsOrigins();
    this.listener = resources.own(listener(origins.isEmpty() ? gateway : new CorsHandler(gateway, origins)));
    this.picker = startPicker(pools);
    String host = config.source().platform().getString("pekko.remote.artery.canonical.hostname");
    forwarder.announce(address().at(host).toString(), events.push()::accepts);
  }

  /** The gateway behind the listener. */
  Gateway gateway() {
    return gateway;
  }

  /** The gateway's listener. */
  HttpServer listener() {
    return listener;
  }

  /** Where that listens. */
  ListenerAddress address() {
    return new ListenerAddress(listener.address(), tls.listener() != null);
  }

  /** The endpoint picker, null where there is none. */
  @Nullable EndpointPicker picker() {
    return picker;
  }

  /** The stored answers, null where none are kept. */
  @Nullable AnswerCache answers() {
    return answers;
  }

  /** Who may come in. */
  AccessAssembly access() {
    return access;
  }

  /** What callers may use. */
  Limiter limiter() {
    return limiter;
  }

  private Dispatcher dispatcher(@Nullable LmCache lmcache, Prompts prompts) {
    PodClient.Settings pods = config.execution().pods().withKeys(config.fleet().podKeys());
    return resources.own(
        new Dispatcher(
            system,
            cells,
            resources.own(
                new PodClient(
                    tls.pods() == null ? pods : pods.withTls(tls.pods()), connections, metrics, NanoClock.SYSTEM)),
            config.execution().requests(),
            PreprocessingStep.builtIn(),
            lmcache == null ? Warmup.NONE : new LmCacheWarmup(lmcache),
            new PromptTokenCounter(prompts),
            new PromptConversion(prompts),
            metrics));
  }

  private @Nullable AnswerCache storedAnswers() throws StartException {
    if (config.execution().answers() == null) {
      return null;
    }
    try {
      AnswerCache cache =
          resources.own(new AnswerCache(config.execution().answers(), InstantSource.system(), metrics));
      readiness.degradation(cache::problems);
      return cache;
    } catch (IOException unusable) {
      throw new StartException("the response cache cannot start: " + unusable.getMessage(), unusable);
    }
  }

  private AccessLog accessLog() {
    LogFileSettings file = config.operations().accessLog();
    if (file == null) {
      return AccessLog.off();
    }
    AccessLog log = resources.own(AccessLog.to(file, InstantSource.system(), metrics));
    readiness.degradation(log::problems);
    return log;
  }

  private Tracing tracing() throws StartException {
    Address self = Cluster.get(system).selfMember().address();
    String node = self.getHost().orElse("") + ":" + self.getPort().orElse(0);
    try {
      Tracing tracing =
          resources.own(
              Tracing.start(
                  config.operations().tracing(), System.getenv(), node, metrics, NanoClock.SYSTEM,
                  InstantSource.system()));
      readiness.degradation(tracing::problems);
      return tracing;
    } catch (TracingException unusable) {
      throw new StartException(String.valueOf(unusable.getMessage()), unusable);
    }
  }

  private GatewaySettings gatewaySettings() {
    GatewayConfig settings = config.gateway();
    return new GatewaySettings(
        ListenerAddress.scheme(tls.listener() != null), settings.usageInjection(), settings.keepAlive(),
        settings.forwarding(),
        new WebSocketSettings(settings.webSocketModel(), settings.corsOrigins()), programReader(),
        config.fleet().cell().admission());
  }

  private @Nullable ProgramReader programReader() {
    ProgramSettings programs = config.fleet().cell().programs();
    return programs.on() ? new ProgramReader(programs.sources()) : null;
  }

  private Limiter startLimiter() {
    Limiter started =
        LimitsWiring.start(
            system, config.gateway().access().limits(), metrics, NanoClock.SYSTEM, InstantSource.system());
    readiness.degradation(started::problems);
    return started;
  }

  private HttpServer listener(HttpHandler handler) throws StartException {
    HttpSettings settings = config.gateway().http();
    ListenerTls certificates = tls.listener();
    try {
      HttpSettings served = certificates == null ? settings : settings.withTls(certificates);
      return HttpServer.start(system, served, handler, connections, metrics, NanoClock.SYSTEM);
    } catch (IOException taken) {
      throw new StartException(
          "the gateway cannot listen: " + taken.getMessage() + "; set kvasir.gateway.port, or --port, to a free one",
          taken);
    }
  }

  private @Nullable EndpointPicker startPicker(LivePools pools) throws StartException {
    PickerSettings settings = config.picker();
    if (settings == null) {
      return null;
    }
    try {
      return resources.own(
          new EndpointPicker(
              settings, gateway, cells, pools, config.fleet().podKeys(), metrics,
              () -> readiness.obstacles().isEmpty(), NanoClock.SYSTEM));
    } catch (IOException unusable) {
      throw new StartException(
          "the endpoint picker cannot listen: " + unusable.getMessage()
              + "; set kvasir.picker.port and health-port to free ones, or look at kvasir.picker.tls",
          unusable);
    }
  }
}
