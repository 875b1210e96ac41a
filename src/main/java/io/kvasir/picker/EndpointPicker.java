package io.kvasir.picker;

import io.kvasir.http.ConnectionThread;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Grpc;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.JdkSslContext;
import io.kvasir.cell.Cells;
import io.kvasir.gateway.Gateway;
import io.kvasir.http.GrpcTls;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.SelfSignedTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.client.PodKeys;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.Pool;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The endpoint picker of a node: servers for gateways and for probes. Thread-safe.
 *
 * <p>A stream costs the connection's thread only what it takes to read and write its messages; what may wait runs on a
 * virtual thread of the stream's own, a {@link ConnectionThread}, until the response streams.
 */
public final class EndpointPicker implements AutoCloseable {
  private static final Duration CERTIFICATE_VALID = Duration.ofDays(3650);
  private static final Duration TICK = Duration.ofMillis(100);

  /** How long a connection may be silent before it is asked for a sign of life, and how long that may take. */
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(20);

  /** How long the last answers have to be written. */
  private static final Duration LAST_ANSWERS = Duration.ofMillis(500);

  private static final int HEADER_BYTES = 256 << 10;

  /** What messages have beside a body. */
  private static final int MESSAGE_OVERHEAD = 1 << 20;

  /**
   * How much of a body may be on its way to a stream that does not read, as it waits for memory. Only that stream's:
   * the window of a connection is filled again as soon as bytes have come, so that no stream keeps another waiting.
   */
  private static final int WINDOW_BYTES = 256 << 10;

  private final PickerServices services;

  /** Of messages that have come in part. */
  private final MemoryBudget messages;

  private final PickerHealth health = new PickerHealth();
  private final BooleanSupplier ready;
  private final ConnectionLoops loops = new ConnectionLoops();
  private final Server gateways;
  private final Server probes;
  private final Thread ticks;
  private volatile boolean draining;

  /**
   * Starts a picker.
   *
   * @param gateway the gateway that reads its requests and has them decided
   * @param pools the pools that are known; those of the settings are added here
   * @param keys the API keys of pods
   * @param ready whether the node serves
   * @throws IOException when a port is taken, or the certificate cannot be used
   */
  public EndpointPicker(
      PickerSettings settings, Gateway gateway, Cells cells, LivePools pools, PodKeys keys, Metrics metrics,
      BooleanSupplier ready, NanoClock clock)
      throws IOException {
    this.ready = ready;
    pools.replace(LivePools.Source.CONFIGURATION, settings.pools());
    this.services =
        new PickerServices(
            gateway,
            cells,
            new PoolExclusions(cells),
            pools,
            keys,
            settings,
            new MemoryBudget(settings.limits().memoryBytes(), clock, metrics, "picker"),
            new UnseenBookings(settings.unseenBooking(), clock),
            new UndecidedStreams(),
            new PickerMetrics(metrics));
    this.messages = new MemoryBudget(settings.limits().messageBytes(), clock, metrics, "picker_messages");
    try {
      this.gateways = gateways(settings, clock).start();
    } catch (IOException unusable) {
      loops.close();
      throw unusable;
    }
    try {
      this.probes =
          NettyServerBuilder.forAddress(new InetSocketAddress(settings.listener().host(), healthPort(settings)))
              .addService(health.service())
              .build()
              .start();
    } catch (IOException taken) {
      gateways.shutdownNow();
      loops.close();
      throw taken;
    }
    this.ticks = Thread.ofVirtual().name("picker-ticks").start(this::tick);
  }

  private static int healthPort(PickerSettings settings) {
    return settings.listener().healthPort();
  }

  private Server gateways(PickerSettings settings, NanoClock clock) throws IOException {
    PickerSettings.Listener listener = settings.listener();
    NettyServerBuilder server =
        loops.serve(NettyServerBuilder.forAddress(new InetSocketAddress(listener.host(), listener.port())))
            // No message is handled for long, and none waits.
            .directExecutor()
            // Streams see to that themselves, so as to answer.
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .addStreamTracerFactory(
                new PartialMessage.Factory(messages, (long) settings.limits().maxBodyBytes() + MESSAGE_OVERHEAD))
            // A message that is compressed could become any length; no gateway compresses them.
            .decompressorRegistry(DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false))
            .maxInboundMetadataSize(HEADER_BYTES)
            .flowControlWindow(WINDOW_BYTES)
            // A gateway whose machine is gone ends no stream: its requests would count as load for hours.
            .keepAliveTime(KEEP_ALIVE.toSeconds(), TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE.toSeconds(), TimeUnit.SECONDS)
            .permitKeepAliveTime(5, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .addService(service())
            .addService(health.service());
    for (Pool pool : settings.pools().pools()) {
      if (pool.port() > 0) {
        server.addListenAddress(new InetSocketAddress(listener.host(), pool.port()));
      }
    }
    if (listener.secure()) {
      server.sslContext(tls(listener.tls(), clock));
    }
    return server.build();
  }

  private static JdkSslContext tls(@Nullable TlsFiles files, NanoClock clock) throws IOException {
    SSLContext context =
        files == null
            ? SelfSignedTls.context("kvasir-picker", CERTIFICATE_VALID)
            : new ReloadingTls(files, clock).context();
    return GrpcTls.server(context, files != null && files.authorities() != null);
  }

  private ServerServiceDefinition service() {
    ServerCallHandler<ProcessingRequest, ProcessingResponse> streams =
        (call, _) -> new ProxyStream(
            call, loops.current(), port(call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR)),
            Objects.requireNonNull(PartialMessage.CURRENT.get()), services);
    return ServerServiceDefinition.builder(ProcessMethod.SERVICE)
        .addMethod(ProcessMethod.DESCRIPTOR, streams)
        .build();
  }

  private static int port(@Nullable SocketAddress address) {
    return address instanceof InetSocketAddress inet ? inet.getPort() : 0;
  }

  /** Ends waits for memory and unseen load in time, and says by health whether the node serves. */
  private void tick() {
    boolean serving = false;
    try {
      while (!gateways.isTerminated()) {
        services.memory().endWaits();
        messages.endWaits();
        services.unseen().endDue();
        boolean now = !draining && ready.getAsBoolean();
        if (now != serving) {
          serving = now;
          health.serving(now);
        }
        Thread.sleep(TICK);
      }
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
  }

  /** The ports for gateways: that of the settings first, then those of pools. */
  public List<Integer> ports() {
    List<Integer> ports = new ArrayList<>();
    gateways.getListenSockets().forEach(address -> ports.add(port(address)));
    return ports;
  }

  /** The port for probes. */
  public int healthPort() {
    return probes.getPort();
  }

  /**
   * Turns health off and takes no new streams; those that run may go on for so long. Then requests that have not gone
   * to a worker are answered, and the other streams are cut. Waits until all have ended.
   */
  public void drain(Duration timeout) {
    draining = true;
    health.serving(false);
    gateways.shutdown();
    try {
      if (!gateways.awaitTermination(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
        services.undecided().stop();
        gateways.awaitTermination(LAST_ANSWERS.toNanos(), TimeUnit.NANOSECONDS);
        gateways.shutdownNow();
        gateways.awaitTermination(1, TimeUnit.SECONDS);
      }
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
  }

  /** Cuts what still runs. */
  @Override
  public void close() {
    gateways.shutdownNow();
    probes.shutdownNow();
    ticks.interrupt();
    loops.close();
    services.unseen().endAll();
  }
}
