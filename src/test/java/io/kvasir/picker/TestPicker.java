package io.kvasir.picker;

import com.typesafe.config.ConfigFactory;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.PushEvents;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.FakeCells;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.gateway.Gateway;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.gateway.GatewaySettings;
import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodKeys;
import io.kvasir.locations.StoredResponses;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.PoolSet;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.Tracing;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;

/** A picker on a real socket, over cells that a test scripts. */
final class TestPicker implements AutoCloseable {
  static final int MAX_BODY = 1 << 20;
  static final PickerSettings SETTINGS =
      new PickerSettings(
          new PickerSettings.Listener("127.0.0.1", 0, 0, false, null),
          PickerSettings.Limits.of(MAX_BODY, 64 << 20),
          true, 0, false, Duration.ofMillis(300), false, PoolSet.NONE);

  private static final ForwardingSettings FORWARDING =
      new ForwardingSettings(
          ServedPaths.INFERENCE,
          new ReservedFields(
              ReservedFields.Action.REMOVE, List.of("kv_transfer_params", "vllm_xargs.kv_transfer_params"), List.of()),
          TrustedProxies.NONE, true);

  private static final ActorTestKit KIT = ActorTestKit.create();

  final FakeCells cells = new FakeCells();
  final LivePools pools = new LivePools();
  final UnseenBookings unseen = new UnseenBookings(SETTINGS.unseenBooking(), NanoClock.SYSTEM);
  final PrometheusRegistry registry = new PrometheusRegistry();
  final EndpointPicker picker;
  private final PodClient pods;
  private final Dispatcher dispatcher;
  private final Gateway gateway;
  private final ManagedChannel channel;

  TestPicker(PickerSettings settings) throws IOException {
    this(settings, GatewayAccess.open());
  }

  TestPicker(PickerSettings settings, GatewayAccess access) throws IOException {
    this(settings, access, NanoClock.SYSTEM);
  }

  /** A picker by whose clock waits for memory end. */
  TestPicker(PickerSettings settings, GatewayAccess access, NanoClock clock) throws IOException {
    Metrics metrics = new Metrics(registry);
    pods = new PodClient(PodClient.Settings.defaults(), metrics, NanoClock.SYSTEM);
    dispatcher =
        new Dispatcher(
            KIT.system(), cells, pods, ExecutionSettings.defaults(), PreprocessingStep.builtIn(), Warmup.NONE,
            TokenCounter.NONE, (_, _, body) -> body, metrics);
    Prompts prompts =
        Prompts.load(
            List.of(), PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run, Clock.systemUTC(), NanoClock.SYSTEM,
            metrics);
    LiveProfiles profiles =
        new LiveProfiles(
            new Profiles(
                new ProfileCompiler(BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths()))
                    .compile(ConfigFactory.empty()),
                ProfileChoice.always("random", false)));
    gateway =
        new Gateway(
            access, prompts, profiles, cells, dispatcher, new PushEvents(new EventMetrics(metrics)),
            (_, _) -> null, null, StoredResponses.alone(metrics), settings(), metrics,
            Tracing.OFF, NanoClock.SYSTEM);
    picker = new EndpointPicker(settings, gateway, cells, pools, PodKeys.NONE, metrics, () -> true, clock);
    channel = NettyChannelBuilder.forAddress("127.0.0.1", picker.ports().getFirst()).usePlaintext().build();
  }

  /** Those of a gateway whose requests say how they would wait. */
  private static GatewaySettings settings() {
    GatewaySettings defaults = GatewaySettings.defaults();
    AdmissionSettings off = AdmissionSettings.OFF;
    return new GatewaySettings(
        defaults.scheme(), defaults.usageInjection(), defaults.keepAlive(), FORWARDING, defaults.webSockets(), null,
        new AdmissionSettings(true, off.classes(), 1, 0, 0, 0, Map.of(), Duration.ZERO));
  }

  /** What a stream needs that does not come over the socket; who makes one ends its {@link #unseen} load. */
  PickerServices services(MemoryBudget memory) {
    return new PickerServices(
        gateway, cells, new PoolExclusions(cells), pools, PodKeys.NONE, SETTINGS, memory, unseen,
        new UndecidedStreams(), new PickerMetrics(new Metrics(new PrometheusRegistry())));
  }

  /** A stream of a proxy that calls by the channel's own authority. */
  TestStream stream() {
    return new TestStream(channel, null);
  }

  /** A stream of a proxy that calls by an authority. */
  TestStream stream(String authority) {
    return new TestStream(channel, authority);
  }

  ManagedChannel channel() {
    return channel;
  }

  /** The sum of a metric's series whose labels have these values. */
  double metric(String name, String... values) {
    return TestMetrics.sum(registry, name, values);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    picker.close();
    gateway.close();
    dispatcher.close();
    pods.close();
  }
}
