package io.kvasir.app.node;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.warmup.Entrance;
import io.kvasir.app.warmup.LoopbackEngine;
import io.kvasir.app.warmup.SampleProxy;
import io.kvasir.app.warmup.SampleTraffic;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.CellSettings.RemoteSettings;
import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.client.LocalCells;
import io.kvasir.events.EventFeed;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.gateway.Gateway;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.gateway.GatewaySettings;
import io.kvasir.gateway.request.PromptConversion;
import io.kvasir.http.ChannelLoop;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.server.HttpServer;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.locations.StoredResponses;
import io.kvasir.picker.EndpointPicker;
import io.kvasir.picker.PickerSettings;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.PoolSet;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.Tracing;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workload of a {@link WarmUp}: requests to a gateway on loopback that is nobody else's, before one engine, which
 * computes nothing. Prompts are prepared as the models of the configuration have it, and workers are chosen by its
 * profiles; but the cells, the connections, what is learned and the metrics end with it. It has no TLS, no keys, no
 * limits and no logs.
 */
final class WarmUpGateway {
  private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);

  private static final int MAX_MODELS = 2;
  private static final int CLIENTS = 16;
  private static final long MEMO_BYTES = 4 << 20;
  private static final Duration POLL = Duration.ofMillis(5);
  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final PodClient.Settings PODS =
      PodClient.Settings.defaults().withTimeouts(TIMEOUT, TIMEOUT, TIMEOUT);
  private static final int CAPACITY_BLOCKS = 1024;

  private final KvasirConfig config;
  private final ActorSystem<?> system;
  private final Prompts prompts;

  /** With the configuration and the models of the node; opens nothing yet. */
  WarmUpGateway(KvasirConfig config, ActorSystem<?> system, Prompts prompts) {
    this.config = config;
    this.system = system;
    this.prompts = prompts;
  }

  /** Opens the gateway and sends it requests, until the limit or until interrupted. */
  void exercise(Resources resources, Duration limit)
      throws IOException, ConfigException, StartException, InterruptedException {
    Metrics metrics = new Metrics(new PrometheusRegistry());
    List<ModelConfig> models = models();
    RoutingAssembly routing = resources.own(routing());
    EventStreams events = resources.own(new EventStreams(metrics));
    LocalCells cells =
        resources.own(
            new LocalCells(
                system, WarmUp.NAME, cellSettings(), pods(models, resources.own(new LoopbackEngine())),
                routing.profileSet(metrics), events, resources.own(new HttpProbe(TIMEOUT, null, PodKeys.NONE)),
                metrics));
    ChannelLoop connections = resources.own(new ChannelLoop("kvasir-warm-up", ChannelLoop.defaultThreads()));
    PodClient client = resources.own(new PodClient(PODS, connections, metrics, NanoClock.SYSTEM));
    Prompts prompts = prompts(models, metrics);
    Dispatcher dispatcher =
        resources.own(
            new Dispatcher(
                system, cells, client, config.execution().requests(), PreprocessingStep.builtIn(), Warmup.NONE,
                TokenCounter.NONE, new PromptConversion(prompts), metrics));
    Gateway gateway =
        resources.own(
            new Gateway(
                GatewayAccess.open(), prompts, routing.profiles(), cells, dispatcher, events.push(),
                (_, _) -> null, null, StoredResponses.alone(metrics), GatewaySettings.defaults(), metrics, Tracing.OFF,
                NanoClock.SYSTEM));
    HttpServer listener =
        resources.own(
            HttpServer.start(
                system, loopback(config.gateway().http()), gateway, connections, metrics, NanoClock.SYSTEM));
    SampleTraffic traffic = resources.own(new SampleTraffic(null));
    List<Entrance> entrances = new ArrayList<>();
    entrances.add(traffic.gateway(URI.create("http://127.0.0.1:" + listener.address().getPort())));
    PickerSettings picker = config.picker();
    if (picker != null) {
      entrances.add(proxy(resources, picker, gateway, cells, metrics));
    }
    awaitHealthy(cells);
    try {
      traffic.send(
          entrances,
          models.stream().map(ModelConfig::name).toList(),
          CLIENTS,
          Integer.MAX_VALUE,
          limit);
    } finally {
      LOG.debug("{} requests have warmed the node up", traffic.answered());
      if (traffic.failure() != null) {
        LOG.warn("the warm-up failed in part: the first requests take longer; {}", traffic.failure());
      }
    }
  }

  /** A proxy before a picker of its own, as the operator's. */
  private static SampleProxy proxy(
      Resources resources, PickerSettings own, Gateway gateway, Cells cells, Metrics metrics) throws IOException {
    PickerSettings settings =
        new PickerSettings(
            new PickerSettings.Listener("127.0.0.1", 0, 0, false, null), own.limits(), false, own.fallbacks(),
            own.earlyClose(), own.unseenBooking(), false, PoolSet.NONE);
    EndpointPicker picker =
        resources.own(
            new EndpointPicker(
                settings, gateway, cells, new LivePools(), PodKeys.NONE, metrics, () -> true, NanoClock.SYSTEM));
    return resources.own(new SampleProxy(picker.ports().getFirst()));
  }

  /** Requests before that would be refused. */
  private static void awaitHealthy(Cells cells) throws InterruptedException {
    while (cells.workers().stream().anyMatch(worker -> worker.health() != Health.HEALTHY)) {
      Thread.sleep(POLL);
    }
  }

  /** The operator's profiles; those that Kvasir has where they may use plugins of others, whose effects are unknown. */
  private RoutingAssembly routing() throws ConfigException, StartException {
    return new RoutingAssembly(
        config.routing().pluginPath().isEmpty() ? config : KvasirConfig.withoutEnvironment(ConfigFactory.empty()));
  }

  private Prompts prompts(List<ModelConfig> models, Metrics metrics) throws IOException {
    PromptSettings settings = PromptSettings.ofMemo(MEMO_BYTES);
    return exactModels().isEmpty()
        ? Prompts.load(
            models, settings, _ -> null, Runnable::run, Clock.system(ZoneId.systemDefault()), NanoClock.SYSTEM, metrics)
        : prompts.separate(models.stream().map(ModelConfig::name).toList(), settings, NanoClock.SYSTEM, metrics);
  }

  private static Set<PodSpec> pods(List<ModelConfig> models, LoopbackEngine engine) {
    Set<PodSpec> pods = new LinkedHashSet<>();
    for (ModelConfig model : models) {
      pods.add(
          new PodSpec(
              WarmUp.NAME + "-" + model.name(), engine.url(), Role.BOTH, Set.of(model.name()), Map.of(),
              new PodSpec.Engine("", 1, model.blockSize(), 2 * CLIENTS, CAPACITY_BLOCKS),
              List.of(new EventFeed.Zmq(engine.eventsEndpoint(), engine.replayEndpoint(), "", false)),
              null));
    }
    return pods;
  }

  /** The operator's, without copies on other nodes. */
  private CellSettings cellSettings() {
    CellSettings own = config.fleet().cell();
    RemoteSettings remote = own.remote();
    return new CellSettings(
        own.index(),
        new RemoteSettings(remote.decisionTimeout(), remote.reservationLease(), 0, remote.moveTimeout()),
        own.health(),
        own.prediction(),
        own.accuracy());
  }

  private static HttpSettings loopback(HttpSettings own) {
    return new HttpSettings(
        "127.0.0.1", 0, own.maxConnections(), own.maxConnectionsPerAddress(), own.maxBodyBytes(), own.memoryBytes(),
        own.timeouts(), null);
  }

  /** The models that requests are for; the one that Kvasir brings along where there are none. */
  private List<ModelConfig> models() {
    List<ModelConfig> exact = exactModels();
    return exact.isEmpty() ? List.of(ModelConfig.demo(ModelConfig.DEMO, 16)) : exact;
  }

  /** Of those whose prompts are prepared here; further ones run the same code. */
  private List<ModelConfig> exactModels() {
    return config.prompts().models().stream()
        .filter(model -> model.mode() == PromptMode.EXACT)
        .limit(MAX_MODELS)
        .toList();
  }
}
