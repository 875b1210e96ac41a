package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An engine's part in moving KV between engines: what it keeps for others, the side channel where they fetch it, and
 * the way to fetch what others keep. Closing it is as sudden as a crash: whoever waits for it is left waiting.
 * Thread-safe.
 */
public final class TransferAgent implements AutoCloseable {
  private final TransferSettings settings;
  private final @Nullable Connector connector;
  private final ScheduledThreadPoolExecutor timer;
  private final Outbox outbox;
  private final @Nullable SideChannel sideChannel;
  private final Courier courier = new Courier();
  private final Here here;
  private final LongAdder received = new LongAdder();
  private final LongAdder ignored = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder recomputed = new LongAdder();

  /**
   * Begins, under a new engine id unless one is set.
   *
   * @param host interface of the side channel
   * @throws IOException when its port is taken
   */
  public TransferAgent(TransferSettings settings, Role role, String host, int ranks, int blockSize) throws IOException {
    this.settings = settings;
    this.connector = connector(settings.dialect());
    this.timer = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("sim-transfer").factory());
    timer.setRemoveOnCancelPolicy(true);
    this.outbox = new Outbox(settings.leaseInForce(), timer);
    String id = settings.engineId() != null ? settings.engineId() : UUID.randomUUID().toString();
    List<String> ids =
        ranks == 1 ? List.of(id) : IntStream.range(0, ranks).mapToObj(rank -> id + "_dp" + rank).toList();
    String reachable = host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
    this.sideChannel = connector == null ? null : new SideChannel(host, settings.port());
    this.here =
        new Here(
            reachable, sideChannel == null ? 0 : sideChannel.port(), ids, role, blockSize, settings.leaseInForce(),
            settings.watchdogInForce());
    if (sideChannel != null && connector != null) {
      sideChannel.serve(outbox, connector, here);
    }
  }

  private static @Nullable Connector connector(Dialect dialect) {
    return switch (dialect) {
      case NONE -> null;
      case VLLM_NIXL, VLLM_NIXL_OLD, VLLM_PUSH -> new NixlConnector(dialect);
      case VLLM_MOONCAKE -> new MooncakeConnector();
      case SGLANG -> new SglangConnector();
      case TENSORRT_LLM -> new TensorRtConnector();
    };
  }

  /** The side channel's port; 0 without one. */
  public int port() {
    return here.port();
  }

  /** A rank's id towards other engines. */
  public String engineId(int rank) {
    return here.engineIds().get(rank);
  }

  /** Whether what a request asks of transfer is looked at. */
  public boolean on() {
    return connector != null;
  }

  /** How long a leg waits for its sibling. */
  public Duration watchdog() {
    return settings.watchdogInForce();
  }

  /** Whether a failed transfer is made good by computing. */
  public boolean recomputes() {
    return settings.recompute();
  }

  /**
   * What each sequence of a request has to do with other engines.
   *
   * @throws Refusal when the engine does not serve such a request
   */
  public List<Leg> legs(LegRequest request) throws Refusal {
    if (connector == null) {
      return Connector.alone(request);
    }
    List<Leg> legs = connector.legs(request, here);
    if (legs == null) {
      ignored.increment();
      return Connector.alone(request);
    }
    return legs;
  }

  /** Adds to an answer in one piece what the next leg needs. */
  public void tell(ObjectNode answer, List<Sent> sent) {
    if (connector != null && !sent.isEmpty()) {
      connector.tell(answer, sent, here);
    }
  }

  /**
   * Says that blocks are in the making.
   *
   * @throws Refusal when some are under this name already
   */
  public void open(Leg.Send leg) throws Refusal {
    if (!outbox.open(key(leg.id(), leg.rank()))) {
      throw new Refusal(400, "'" + leg.id() + "' is in use by another request");
    }
  }

  /** Completes when somebody has asked for the blocks. */
  public CompletableFuture<Void> asked(Leg.Send leg) {
    return outbox.asked(key(leg.id(), leg.rank()));
  }

  /** The blocks are there, and kept until they are fetched or their lease ends. */
  public void offer(Leg.Send leg, Held held) {
    outbox.offer(key(leg.id(), leg.rank()), held);
  }

  /** There will be no blocks. */
  public void withdraw(Leg.Send leg) {
    outbox.withdraw(key(leg.id(), leg.rank()));
  }

  /** Tells the other engine from time to time that its blocks are still wanted, until the returned is cancelled. */
  public ScheduledFuture<?> beat(Leg.Receive leg) {
    long nanos = leg.beat().toNanos();
    return timer.scheduleAtFixedRate(
        () -> Thread.startVirtualThread(() -> courier.beat(leg)), 0, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Waits for another engine's blocks. The copying itself takes the time the caller gives it; {@link #copied} ends it.
   *
   * @throws IOException when they cannot be had, in plain words
   */
  public Parcel fetch(Leg.Receive leg) throws IOException {
    return courier.take(leg);
  }

  /** Blocks were copied; the other engine can free them. */
  public void copied(Leg.Receive leg) {
    received.increment();
    courier.done(leg, true);
  }

  /** Blocks are not wanted any more. */
  public void abandon(Leg.Receive leg) {
    if (leg.abandons()) {
      courier.done(leg, false);
    }
  }

  /** Counts a transfer that failed. */
  public void countFailure(boolean madeGood) {
    failed.increment();
    if (madeGood) {
      recomputed.increment();
    }
  }

  /** How long {@code bytes} take over the wire, nanoseconds. */
  public long nanosFor(double bytes) {
    return (long) (bytes * 8 / settings.gbps());
  }

  /** Counts so far. */
  public TransferStats stats() {
    return new TransferStats(
        outbox.held(), outbox.sent(), received.sum(), ignored.sum(), failed.sum(), recomputed.sum(), outbox.expired(),
        outbox.beats());
  }

  @Override
  public void close() {
    if (sideChannel != null) {
      sideChannel.close();
    }
    courier.close();
    timer.shutdownNow();
  }

  private String key(String id, int rank) {
    return connector == null ? id : connector.key(id, rank, here);
  }
}
